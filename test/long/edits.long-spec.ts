import '../support/long-run.ts';
import '../faults/edits.faults-spec.ts';
