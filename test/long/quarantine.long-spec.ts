import '../support/long-run.ts';
import '../faults/patient/quarantine.faults-spec.ts';
