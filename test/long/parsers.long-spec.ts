import '../support/long-run.ts';
import '../hostile/parsers.hostile-spec.ts';
