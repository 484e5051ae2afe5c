import { afterAll, beforeAll, describe } from '@jest/globals';
import { describeCredentials } from '../support/connector-contract.ts';
import { GoogleFixture } from '../support/google-account.ts';
import { describeLookUps } from '../support/look-up-contract.ts';
import { describeMail } from '../support/mail-contract.ts';
import { describeMailbox } from '../support/mailbox-contract.ts';
import { expectDocumented } from '../support/remote-stub/remote-stub.ts';

describe('mail of Google accounts', () => {
  let fixture: GoogleFixture;
  beforeAll(async () => {
    fixture = await GoogleFixture.start();
  });
  afterAll(async () => {
    await fixture.stop();
    expectDocumented(fixture.stub);
  });

  const account = async () => fixture.account();
  describeCredentials(async () => ({
    connector: fixture.connector,
    account,
    refusedAccount: async () => fixture.refusedAccount(),
  }));
  describeMail(async () => ({ mail: fixture.connector.mail, account }));
  describeLookUps(async () => fixture.forgetful());
  describeMailbox(async () => ({
    mail: fixture.connector.mail,
    mailbox: fixture.connector.mailbox,
    account,
  }));
});
