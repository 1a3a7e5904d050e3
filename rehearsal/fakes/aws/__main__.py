"""`python -m rehearsal.fakes.aws`: the provider plugin; prints its port and serves."""

from rehearsal.fakes.account import from_environment
from rehearsal.fakes.aws.provider import AwsRules
from rehearsal.fakes.life_cycle import LifeCycle
from rehearsal.fakes.wire import serve

if __name__ == "__main__":
    serve(LifeCycle(AwsRules(), from_environment()))
