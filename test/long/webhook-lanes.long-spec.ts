import '../support/long-run.ts';
import '../faults/webhook-lanes.faults-spec.ts';
