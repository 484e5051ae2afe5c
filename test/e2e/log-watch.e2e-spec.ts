import { Logger } from '@nestjs/common';
import request from 'supertest';
import { registerSandbox } from '../support/connect.ts';
import { createAccount, createApplication, type TestApplication } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

/** The error text with which the end of a suite reports the log, or an empty string. */
async function closing(server: TestApp): Promise<string> {
  return server.close().then(
    () => '',
    (error: unknown) => (error as Error).message,
  );
}

describe('a suite with its own application', () => {
  let server: TestApp;
  let application: TestApplication;

  beforeEach(async () => {
    server = await startTestApp({
      SMS_GATEWAY: 'twilio',
      TWILIO_ACCOUNT_SID: 'AC1',
      TWILIO_FROM: '+15550100',
      TWILIO_AUTH_TOKEN: 'twilio-auth-token-4711',
    });
    application = await createApplication(server.app);
  });

  const say = (text: string) => new Logger('Loquacious').warn(`it is ${text}, be quiet`);
  const connect = async () => {
    await registerSandbox(server, application, {
      redirect_uris: ['https://app.example.test/back'],
    });
    const { body } = await request(server.url)
      .post('/connect/grants')
      .set(application.basic)
      .send({
        provider: 'sandbox',
        settings: { email: 'eve@sandbox.test', password: 'mailbox-p4ss"word' },
      })
      .expect(200);
    return body.data as { access_token: string };
  };

  it('passes if its requests were logged without secrets', async () => {
    await connect();
    expect(await closing(server)).toBe('');
  });

  it.each<[string, () => Promise<string> | string]>([
    [
      'the access token of an account that the test created',
      async () => (await createAccount(server.app, application)).token,
    ],
    ['an access token in a response', async () => (await connect()).access_token],
    ['a password in a request', async () => (await connect()) && 'mailbox-p4ss"word'],
    ['the client secret', () => application.clientSecret],
    [
      'an encoded Authorization header',
      async () => {
        await connect();
        return application.basic['authorization']?.split(' ')[1] ?? '';
      },
    ],
    ['a secret of the environment', () => 'twilio-auth-token-4711'],
    [
      'a sign-in link',
      async () => {
        await connect();
        const redirect_uri = 'https://app.example.test/back';
        const { body } = await request(server.url)
          .post('/connect/auth')
          .set(application.basic)
          .send({ provider: 'sandbox', redirect_uri })
          .expect(200);
        return new URL(body.data.url as string).searchParams.get('id') ?? '';
      },
    ],
  ])(
    'fails at its end if %s was logged, and prints the line without the secret',
    async (_, leak) => {
      const value = await leak();
      expect(value.length).toBeGreaterThan(8);
      say(value);
      const words = await closing(server);
      expect(words).toMatch(
        /^The log contains 1 secrets:\n.* in: .*Loquacious.*it is <.*>, be quiet/,
      );
      expect(words).not.toContain(value);
      expect(words).not.toContain(JSON.stringify(value).slice(1, -1));
    },
  );
});
