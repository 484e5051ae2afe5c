import { z } from 'zod';

/** The operator's own mailing service, for mails of the server itself. Its password is in no log and no answer. */
export interface OperatorMailConfig {
  /** Address that its mails are from. */
  from: string;
  /** Settings of the mailing service of kind `smtp` (docs/relay.md). */
  smtp: {
    host: string;
    port: number;
    security: 'tls' | 'starttls' | 'none';
    username?: string;
    password?: string;
  };
}

const SECURITIES: Readonly<
  Record<string, { security: 'tls' | 'starttls' | 'none'; port: number }>
> = {
  'smtps:': { security: 'tls', port: 465 },
  'smtp:': { security: 'starttls', port: 587 },
  'smtp+plain:': { security: 'none', port: 25 },
};

function isEncoded(text: string): boolean {
  try {
    return decodeURIComponent(text) !== null;
  } catch {
    return false;
  }
}

const smtpUrl = z
  .string()
  .refine(
    (value) =>
      URL.canParse(value) && SECURITIES[new URL(value).protocol] && new URL(value).hostname !== '',
    'must be smtps://user:password@host:port, or smtp:// for STARTTLS',
  )
  .refine((value) => {
    if (!URL.canParse(value)) return true;
    const { username, password } = new URL(value);
    return (username === '') === (password === '');
  }, 'user name and password go together')
  .refine((value) => {
    if (!URL.canParse(value)) return true;
    const { username, password } = new URL(value);
    return isEncoded(username) && isEncoded(password);
  }, 'must have a "%" of the user name or password as %25')
  .transform((value): OperatorMailConfig['smtp'] => {
    const { protocol, hostname, port, username, password } = new URL(value);
    const { security, port: usual } = SECURITIES[protocol] ?? { security: 'starttls', port: 587 };
    const login = {
      username: decodeURIComponent(username),
      password: decodeURIComponent(password),
    };
    const host = hostname.replace(/^\[|\]$/g, '');
    return { host, port: port ? Number(port) : usual, security, ...(username ? login : {}) };
  });

export const operatorMailVariables = {
  OPERATOR_SMTP_URL: smtpUrl.optional(),
  OPERATOR_MAIL_FROM: z.email('must be a mail address').optional(),
};

/** @param problems gets what is missing @returns null: the server sends no mail of its own */
export function operatorMailConfig(
  {
    OPERATOR_SMTP_URL: smtp,
    OPERATOR_MAIL_FROM: from,
  }: z.infer<z.ZodObject<typeof operatorMailVariables>>,
  problems: string[],
): OperatorMailConfig | null {
  if (smtp === undefined && from === undefined) return null;
  if (smtp === undefined)
    problems.push('OPERATOR_SMTP_URL: is required together with OPERATOR_MAIL_FROM');
  if (from === undefined)
    problems.push('OPERATOR_MAIL_FROM: is required together with OPERATOR_SMTP_URL');
  return smtp && from ? { smtp, from } : null;
}
