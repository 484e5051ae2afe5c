import '../support/long-run.ts';
import '../faults/reminder-storm.faults-spec.ts';
