import '../support/long-run.ts';
import '../faults/database.faults-spec.ts';
