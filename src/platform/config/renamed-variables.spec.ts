import { loadConfig } from './app-config.ts';

const LOCAL = {
  databaseUrl: 'postgresql://localhost/none',
  encryptionKeys: `test:${Buffer.alloc(32, 1).toString('base64')}`,
};

describe('a variable that was renamed', () => {
  it.each(['true', 'false'])(
    'fails a start with its former name and names the new one',
    (value) => {
      expect(() => loadConfig({ STRICT_QUERY: value }, LOCAL)).toThrow(
        'STRICT_QUERY: is now called STRICT_REQUESTS; rename it',
      );
    },
  );

  it('counts as absent while it is empty', () => {
    expect(loadConfig({ STRICT_QUERY: '' }, LOCAL).strictRequests).toBe(false);
  });

  it('works with its new name', () => {
    expect(loadConfig({ STRICT_REQUESTS: 'true' }, LOCAL).strictRequests).toBe(true);
  });
});
