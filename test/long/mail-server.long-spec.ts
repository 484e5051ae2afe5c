import '../support/long-run.ts';
import '../faults/mail-server.faults-spec.ts';
