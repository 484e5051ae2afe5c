import '../support/long-run.ts';
import '../hostile/requests.hostile-spec.ts';
