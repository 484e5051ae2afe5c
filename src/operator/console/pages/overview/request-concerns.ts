import { type Overview, RECENT_MINUTES } from '../../../overview/overview.ts';
import { count, counted } from '../../kit/figures.ts';
import { type Concern, recentFailures } from './concern.ts';

/** Page of the requests that failed in the last hour. */
const FAILED_REQUESTS = '/console/failed-requests';

/** Failed requests are a concern from this share on, as in the alert CarillonServerErrors. */
const LEAST_SHARE = 0.05;

/** Requests of applications that were answered with 5xx. */
export function requestConcerns({ requests }: Overview): Concern[] {
  const { minutes, failures } = requests;
  const [worst] = failures;
  const counts = minutes.map(({ failed, requests: all }) => ({ failed, all }));
  return recentFailures(counts, LEAST_SHARE, ({ failed, all }) => ({
    title: `${count(failed)} of ${counted(all, 'request')} answered with 5xx in the last ${RECENT_MINUTES} minutes`,
    text: worst
      ? `Most often (${count(worst.requests)}): ${worst.method} ${worst.route} with ${worst.status}, ${worst.error}. The log of the process says more under the id of the request.`
      : 'The log of the processes has a line for each.',
    link: { path: FAILED_REQUESTS, label: 'Failed requests' },
  }));
}
