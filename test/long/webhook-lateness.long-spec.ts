import '../support/long-run.ts';
import '../faults/webhook-lateness.faults-spec.ts';
