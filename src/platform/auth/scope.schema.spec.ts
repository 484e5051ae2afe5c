import { scopeList } from './scope.schema.ts';

const read = (value: unknown) => scopeList().safeParse(value);

describe('scopeList', () => {
  it.each([
    [null, null],
    [[], null],
    ['', null],
    ['email.send, calendar', ['email.send', 'calendar']],
    [['email.send', 'email.send'], ['email.send']],
    [['https://www.googleapis.com/auth/gmail.readonly'], ['email.read_only']],
    [['openid', 'email', 'profile', 'https://www.googleapis.com/auth/calendar'], ['calendar']],
    [
      ['https://www.googleapis.com/auth/gmail.modify', 'email.send'],
      ['email.modify', 'email.send'],
    ],
    [
      ['Mail.Read', 'https://graph.microsoft.com/Mail.Send', 'offline_access'],
      ['email.read_only', 'email.send'],
    ],
  ])('reads %j', (value, scopes) => expect(read(value).data).toEqual(scopes));

  it.each([
    [['everything'], /^unknown scope "everything"/],
    [['https://www.googleapis.com/auth/drive'], /^unknown scope "https:/],
    [['toString'], /^unknown scope/],
    [['openid'], /^none of these scopes permits/],
    [['openid', 'email'], /^none of these scopes permits/],
    ['https://www.googleapis.com/auth/userinfo.email', /^none of these scopes permits/],
  ])('refuses %j', (value, message) =>
    expect(read(value).error?.issues[0]?.message).toMatch(message),
  );
});
