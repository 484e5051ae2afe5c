import { afterAll, beforeAll, describe } from '@jest/globals';
import { describeCredentials } from '../support/connector-contract.ts';
import { patient } from '../support/contract-tools.ts';
import { GoogleFixture } from '../support/google-account.ts';
import { describeLookUps } from '../support/look-up-contract.ts';
import { describeMail } from '../support/mail-contract.ts';
import { describeMailbox } from '../support/mailbox-contract.ts';
import { expectDocumented } from '../support/remote-stub/remote-stub.ts';

describe.each(['as its manuals say', 'at its worst'])('mail of Google accounts, %s', (manner) => {
  let fixture: GoogleFixture;
  beforeAll(async () => {
    fixture = await GoogleFixture.start(manner === 'at its worst' ? 'worst' : 'usual');
  });
  afterAll(async () => {
    await fixture.stop();
    expectDocumented(fixture.stub);
  });

  const account = async () => fixture.account();
  const ports = async () => ({
    mail: patient(fixture.connector.mail),
    mailbox: patient(fixture.connector.mailbox),
    account,
  });
  describeCredentials(async () => ({
    connector: fixture.connector,
    account,
    refusedAccount: async () => fixture.refusedAccount(),
  }));
  describeMail(ports);
  describeMailbox(ports);
});

describe('mail of Google accounts', () => {
  let fixture: GoogleFixture;
  beforeAll(async () => {
    fixture = await GoogleFixture.start();
  });
  afterAll(() => fixture.stop());
  describeLookUps(async () => fixture.forgetful());
});
