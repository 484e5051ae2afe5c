import '../support/long-run.ts';
import '../e2e/bad-input.e2e-spec.ts';
