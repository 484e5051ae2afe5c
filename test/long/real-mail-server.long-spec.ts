import '../support/long-run.ts';
import '../faults/patient/real-mail-server.faults-spec.ts';
