import '../support/long-run.ts';
import '../faults/real-mail-server.faults-spec.ts';
