import '../support/long-run.ts';
import '../faults/failover/failover.faults-spec.ts';
