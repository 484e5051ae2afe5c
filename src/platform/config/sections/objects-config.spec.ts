import { ConfigError, loadConfig } from '../app-config.ts';

const load = (url: string) =>
  loadConfig({
    DATABASE_URL: 'postgres://localhost/carillon',
    ENCRYPTION_KEYS: `k1:${Buffer.alloc(32).toString('base64')}`,
    OBJECTS_URL: url,
  }).objects.store;

const problemWith = (url: string): string => {
  try {
    load(url);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return 'no problem';
};

describe('OBJECTS_URL', () => {
  it('reads the access key, the bucket, the folder and the region', () => {
    expect(load('https://AKIA1:se%2Fcr%2Bet@[::1]:9000/mail-bodies/prod?region=auto')).toEqual({
      origin: 'https://[::1]:9000',
      host: '::1',
      bucket: 'mail-bodies',
      folder: 'prod/',
      region: 'auto',
      accessKeyId: 'AKIA1',
      secretAccessKey: 'se/cr+et',
    });
  });

  it('needs neither a region nor a folder, and may be plain http', () => {
    expect(load('http://key:secret@minio:9000/bucket')).toMatchObject({
      origin: 'http://minio:9000',
      folder: '',
      region: 'us-east-1',
    });
  });

  it.each([
    ['no URL', 'minio:9000', 'OBJECTS_URL: must be https://key:secret@host/bucket'],
    ['an unencoded slash in the secret', 'https://key:se/cret@host/bucket', 'as %2F'],
    ['another scheme', 's3://key:secret@host/bucket', 'must be https://'],
    ['no secret', 'https://key@host/bucket', 'an access key and its secret'],
    ['a wrong percent sign', 'https://key:sec%ret@host/bucket', 'as %25'],
    ['a dot after the host', 'https://key:secret@host./bucket', 'without a dot'],
    ['no bucket', 'https://key:secret@host/', 'must name a bucket'],
    ['a bucket in capitals', 'https://key:secret@host/Bucket', 'must name a bucket'],
    ['two folders', 'https://key:secret@host/bucket/a/b', 'at most one folder'],
    ['an unknown parameter', 'https://key:secret@host/bucket?acl=x', 'no parameter but region'],
    ['a wrong region', 'https://key:secret@host/bucket?region=A%20B', 'no parameter but region'],
  ])('refuses %s and says what is wanted', (_, url, words) => {
    expect(problemWith(url)).toContain(words);
  });

  it('does not repeat the secret in its error', () => {
    expect(problemWith('https://key:verysecret@host/Bucket')).not.toContain('verysecret');
  });
});
