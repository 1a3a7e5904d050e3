"""`python -m rehearsal.fakes.azure_native`: the provider plugin; prints its port and serves."""

from rehearsal.fakes.account import from_environment
from rehearsal.fakes.azure_native.provider import AzureRules
from rehearsal.fakes.life_cycle import LifeCycle
from rehearsal.fakes.wire import serve

if __name__ == "__main__":
    serve(LifeCycle(AzureRules(), from_environment()))
