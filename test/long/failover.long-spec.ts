import '../support/long-run.ts';
import '../faults/failover/failover.faults-spec.ts';
import '../faults/failover/hosts.faults-spec.ts';
import '../faults/failover/synchronous.faults-spec.ts';
