import { refusals } from '../refusals/refusals.ts';
import { loginsRefused, requestsLimited } from './request-metrics.ts';

// Guards and limits cannot import the metrics, whose page they protect.
refusals.listen((refused) => {
  if (refused.kind === 'login') loginsRefused.inc({ of: refused.of });
  else requestsLimited.inc({ by: refused.by });
});
