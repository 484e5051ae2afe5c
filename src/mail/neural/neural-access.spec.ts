import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import type { AppConfig } from '../../platform/config/app-config.ts';
import { NeuralAccess } from './neural-access.ts';

const access = (neural: boolean) => new NeuralAccess({ neural } as AppConfig);
const account = (features: string[]) => ({ features }) as unknown as AccountPrincipal;

describe('NeuralAccess', () => {
  it('needs both the server and the application to enable it, and names the one that does not', () => {
    expect(() => access(true).require(account(['neural']))).not.toThrow();
    expect(() => access(false).require(account(['neural']))).toThrow('not enabled on this server');
    expect(() => access(true).require(account(['sms']))).toThrow(
      'not enabled for this application',
    );
  });
});
