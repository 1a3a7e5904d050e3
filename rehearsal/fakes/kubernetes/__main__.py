"""`python -m rehearsal.fakes.kubernetes`: the provider plugin; prints its port and serves."""

from rehearsal.fakes.account import from_environment
from rehearsal.fakes.kubernetes.provider import KubernetesRules
from rehearsal.fakes.life_cycle import LifeCycle
from rehearsal.fakes.wire import serve

if __name__ == "__main__":
    serve(LifeCycle(KubernetesRules(), from_environment()))
