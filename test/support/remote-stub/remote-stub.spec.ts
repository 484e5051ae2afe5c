import type { Api } from '../api-documents/check.ts';
import type { StubAnswer, StubRequest } from './messages.ts';
import { Quota } from './quota.ts';
import { RemoteStub } from './remote-stub.ts';
import { Router } from './router.ts';

class ProfileStub extends RemoteStub {
  done = 0;
  profile: object = { emailAddress: 'a@b.test' };

  protected apiOf(): Api {
    return 'gmail';
  }

  protected answer(_request: StubRequest): StubAnswer {
    this.done += 1;
    return { status: 200, body: this.profile };
  }
}

describe('the server under the stubs', () => {
  let stub: ProfileStub;
  const profile = () => fetch(`${stub.origin}/gmail/v1/users/me/profile`);

  beforeEach(async () => {
    stub = await new ProfileStub().listen();
  });
  afterEach(() => stub.stop());

  it('answers, records, and finds nothing to complain about documented traffic', async () => {
    const answer = await profile();
    expect(await answer.json()).toEqual({ emailAddress: 'a@b.test' });
    expect(stub.requestsOf('GET /gmail')).toMatchObject([{ status: 200, isFault: false }]);
    expect(stub.violations).toEqual([]);
  });

  it('collects violations of requests and of answers', async () => {
    stub.profile = { email: 'a@b.test' };
    await profile();
    await fetch(`${stub.origin}/gmail/v1/users/me/mails`);
    expect(stub.violations).toEqual([
      expect.stringContaining('unknown field email'),
      expect.stringContaining('Request: no path'),
      expect.stringContaining('Answer 200'),
    ]);
  });

  it('applies each fault as often as it says, in order', async () => {
    stub.faults.add({ answer: { status: 429, headers: { 'retry-after': '7' } } });
    stub.faults.add({ answer: '504-after-done' });
    stub.faults.add({ answer: 'drop', times: 2 });
    stub.faults.add({ answer: 'drop-after-done', match: ({ path }) => path.endsWith('/profile') });
    const limited = await profile();
    expect([limited.status, limited.headers.get('retry-after'), stub.done]).toEqual([429, '7', 0]);
    expect([(await profile()).status, stub.done]).toEqual([504, 1]);
    await expect(profile()).rejects.toThrow('fetch failed');
    await expect(profile()).rejects.toThrow('fetch failed');
    expect(stub.done).toBe(1);
    await expect(profile()).rejects.toThrow('fetch failed');
    expect([stub.done, stub.faults.pending, (await profile()).status]).toEqual([2, 0, 200]);
  });
});

describe('the quota of a stub', () => {
  it('refuses what exceeds a sliding window, and says when it is possible', () => {
    let now = 0;
    const quota = new Quota({ units: 100, windowMs: 60_000 }, () => now);
    expect(quota.take('a', 60)).toBe(0);
    now = 10_000;
    expect([quota.take('a', 40), quota.take('b', 100)]).toEqual([0, 0]);
    now = 20_000;
    expect(quota.take('a', 50)).toBe(40_000);
    expect([quota.highest('a'), quota.refusals('a'), quota.refusals()]).toEqual([150, 1, 1]);
    now = 60_000;
    expect(quota.take('a', 50)).toBe(0);
  });
});

describe('the router of a stub', () => {
  it('prefers the more specific route and decodes parameters', () => {
    const router = new Router<string>();
    router.add('GET', '/m/{id}', 'get');
    router.add('POST', '/m/import', 'import');
    router.add('POST', '/m/{id}', 'post');
    router.add('POST', '/{name*}:pull', 'pull');
    expect(router.find('POST', '/m/import')).toEqual({ value: 'import', params: {} });
    expect(router.find('POST', '/m/a%40b')).toEqual({ value: 'post', params: { id: 'a@b' } });
    expect(router.find('POST', '/a/b:pull')).toEqual({ value: 'pull', params: { name: 'a/b' } });
    expect([router.find('PUT', '/m/1'), router.find('GET', '/x')]).toEqual(['method', null]);
  });
});
