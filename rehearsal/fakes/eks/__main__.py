"""`python -m rehearsal.fakes.eks`: the provider plugin; prints its port and serves."""

from rehearsal.fakes.account import from_environment
from rehearsal.fakes.eks.provider import EksRules
from rehearsal.fakes.life_cycle import LifeCycle
from rehearsal.fakes.wire import serve

if __name__ == "__main__":
    serve(LifeCycle(EksRules(), from_environment()))
