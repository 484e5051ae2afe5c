import { afterAll, afterEach, beforeAll, describe } from '@jest/globals';
import { describeCredentials } from '../support/connector-contract.ts';
import { describeMail } from '../support/mail-contract.ts';
import { describeMailbox } from '../support/mailbox-contract.ts';
import { MicrosoftFixture } from '../support/microsoft-account.ts';
import { expectDocumented } from '../support/remote-stub/remote-stub.ts';

describe('mail of an account at the stub of Microsoft', () => {
  let fixture: MicrosoftFixture;
  beforeAll(async () => {
    fixture = await MicrosoftFixture.start();
  });
  afterAll(() => fixture.stop());
  afterEach(() => expectDocumented(fixture.stub));

  const parts = async () => {
    const { mail, mailbox } = fixture.connector;
    return { mail, mailbox, account: async () => fixture.account() };
  };
  describeCredentials(async () => ({
    connector: fixture.connector,
    account: async () => fixture.account(),
    refusedAccount: async () => fixture.refusedAccount(),
  }));
  describeMail(parts);
  describeMailbox(parts);
});
