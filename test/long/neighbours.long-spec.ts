import '../support/long-run.ts';
import '../faults/neighbours.faults-spec.ts';
