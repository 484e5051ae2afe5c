import '../support/long-run.ts';
import '../faults/kill.faults-spec.ts';
