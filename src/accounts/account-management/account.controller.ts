import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { AccountAuth, CurrentAccount } from '../../platform/auth/access.decorators.ts';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import { AccountService } from './account.service.ts';
import { toAccountView } from './accounts.mapper.ts';
import { accountView } from './accounts.schema.ts';

@ApiTags('accounts')
@AccountAuth({})
@Controller('account')
export class AccountController {
  constructor(
    private readonly account: AccountService,
    private readonly connectors: ConnectorRegistry,
  ) {}

  @Get()
  @Endpoint({ summary: 'The account of the access token', response: accountView })
  async get(@CurrentAccount() { applicationId, accountId }: AccountPrincipal) {
    const { grant, mirror } = await this.account.get(applicationId, accountId);
    return toAccountView(grant, this.connectors, mirror);
  }
}
