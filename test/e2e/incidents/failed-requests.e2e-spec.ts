import request from 'supertest';
import { Database } from '../../../src/platform/database/sql.ts';
import {
  pruneRequestCounts,
  RequestCountRecorder,
} from '../../../src/platform/request-counts/request-count-recorder.ts';
import { requestCounts } from '../../../src/platform/request-counts/request-counts.ts';
import { rowsOf } from '../../support/connect.ts';
import { createAccount, createApplication } from '../../support/factories.ts';
import { createOperator } from '../../support/operators.ts';
import { overviewOf } from '../../support/operators-view.ts';
import { startTestApp } from '../../support/test-app.ts';

const FAILED = /requests answered with 5xx in the last 5 minutes$/;

describe('requests that fail because a table is lost', () => {
  it('are counted over all processes, are a concern with the most frequent error, and end as one when a request succeeds in a later minute', async () => {
    // What other tests of this process have counted.
    requestCounts.take();
    const server = await startTestApp({ ROLES: 'api' });
    const operator = await createOperator(server);
    const ada = await createAccount(server.app, await createApplication(server.app));
    const get = async (path: string) =>
      (await request(server.url).get(path).set(ada.bearer).set('x-request-id', 'r-7')).status;
    const store = () => server.app.get(RequestCountRecorder, { strict: false }).store();
    const concern = async () =>
      (await overviewOf(server, operator)).find(({ title }) => FAILED.test(title));

    await rowsOf(server, 'alter table contact rename to lost_contact');
    expect([await get('/contacts'), await get('/contacts')]).toEqual([500, 500]);
    expect(await concern()).toBeUndefined();
    expect(await get('/contacts')).toBe(500);
    expect(await get('/account')).toBe(200);
    await store();
    expect(await get('/contacts')).toBe(500);
    expect(await concern()).toMatchObject({
      tone: 'bad',
      title: '4 of 5 requests answered with 5xx in the last 5 minutes',
      text: expect.stringMatching(
        /^Most often \(4\): GET \/contacts with 500, error 42P01 of the database\. /,
      ),
      link: '/console/failed-requests',
    });
    const { text } = await request(server.url).get('/console/failed-requests').set(operator.cookie);
    expect(text).toContain('<code>r-7</code>');

    await store();
    await rowsOf(server, 'alter table lost_contact rename to contact');
    await rowsOf(server, `update request_count set minute = minute - interval '1 min'`);
    expect(await get('/contacts')).toBe(200);
    expect(await concern()).toBeUndefined();
    await rowsOf(server, `update request_count set minute = minute - interval '2 h'`);
    expect(await pruneRequestCounts(server.app.get(Database), new Date())).toBe(2);
    await server.close();
  });
});
