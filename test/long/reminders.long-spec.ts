import '../support/long-run.ts';
import '../faults/reminders.faults-spec.ts';
