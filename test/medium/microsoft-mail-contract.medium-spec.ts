import { afterAll, afterEach, beforeAll, describe } from '@jest/globals';
import { describeCredentials } from '../support/connector-contract.ts';
import { patient } from '../support/contract-tools.ts';
import { describeLookUps } from '../support/look-up-contract.ts';
import { describeMail } from '../support/mail-contract.ts';
import { describeMailbox } from '../support/mailbox-contract.ts';
import { EVERY_DAY, UNPLEASANT } from '../support/microsoft/settings.ts';
import { MicrosoftFixture } from '../support/microsoft-account.ts';
import { expectDocumented } from '../support/remote-stub/remote-stub.ts';

describe.each([
  ['every day', EVERY_DAY],
  ['at its worst', UNPLEASANT],
])('mail of accounts at the stub of Microsoft, %s', (_, manner) => {
  let fixture: MicrosoftFixture;
  beforeAll(async () => {
    fixture = await MicrosoftFixture.start({}, manner);
  });
  afterAll(() => fixture.stop());
  afterEach(() => expectDocumented(fixture.stub));

  const parts = async () => {
    const { mail, mailbox } = fixture.connector;
    return {
      mail: patient(mail),
      mailbox: patient(mailbox),
      account: async () => fixture.account(),
    };
  };
  describeCredentials(async () => ({
    connector: fixture.connector,
    account: async () => fixture.account(),
    refusedAccount: async () => fixture.refusedAccount(),
  }));
  describeMail(parts);
  describeMailbox(parts);
});

describe('mail of accounts at the stub of Microsoft', () => {
  let fixture: MicrosoftFixture;
  beforeAll(async () => {
    fixture = await MicrosoftFixture.start();
  });
  afterAll(() => fixture.stop());
  afterEach(() => expectDocumented(fixture.stub));
  describeLookUps(async () => fixture.forgetful());
});
