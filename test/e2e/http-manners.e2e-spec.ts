import request from 'supertest';
import { startTestApp, type TestApp } from '../support/test-app.ts';

describe('HTTP manners', () => {
  let server: TestApp;
  beforeAll(async () => {
    server = await startTestApp();
  });
  afterAll(() => server.close());

  it('answers an unknown path with a flat 404 and a request id', async () => {
    const response = await request(server.url).get('/nothing-here').set('X-Request-Id', 'abc-1');
    expect(response.status).toBe(404);
    expect(response.body).toEqual({
      message: 'There is nothing at /nothing-here',
      type: 'invalid_request_error',
    });
    expect(response.headers['x-request-id']).toBe('abc-1');
  });
});
