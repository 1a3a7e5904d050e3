"""`python -m rehearsal.fakes.alicloud`: the provider plugin; prints its port and serves."""

from rehearsal.fakes.account import from_environment
from rehearsal.fakes.alicloud.provider import AlicloudRules
from rehearsal.fakes.life_cycle import LifeCycle
from rehearsal.fakes.wire import serve

if __name__ == "__main__":
    serve(LifeCycle(AlicloudRules(), from_environment()))
