import { Body, Controller, Get, Post, Put } from '@nestjs/common';
import { ApiParam, ApiTags } from '@nestjs/swagger';
import {
  ApplicationSecretAuth,
  ApplicationId,
  CurrentApplication,
} from '../../platform/auth/access.decorators.ts';
import type { ApplicationPrincipal } from '../../platform/auth/principal.ts';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { ApiErrors } from '../../platform/http/errors/error.schema.ts';
import { toApplicationView, toIpAddressesView } from './applications.mapper.ts';
import {
  applicationView,
  ipAddressesView,
  toApplicationChange,
  type UpdateApplication,
  updateApplicationSchema,
} from './applications.schema.ts';
import { ApplicationsService } from './applications.service.ts';
import { PublicAddressesService } from './public-addresses.service.ts';

@ApiTags('applications')
@ApiParam({ name: 'client_id' })
@ApplicationSecretAuth()
@Controller('a/:client_id')
export class ApplicationsController {
  constructor(
    private readonly applications: ApplicationsService,
    private readonly addresses: PublicAddressesService,
  ) {}

  @Get()
  @Endpoint({ summary: 'Read the application', response: applicationView })
  async get(@ApplicationId() applicationId: string) {
    return toApplicationView(await this.applications.get(applicationId));
  }

  @Put()
  @Endpoint({ summary: 'Change the application', response: applicationView })
  async update(
    @ApplicationId() applicationId: string,
    @Body({ schema: updateApplicationSchema }) body: UpdateApplication,
  ) {
    return toApplicationView(
      await this.applications.update(applicationId, toApplicationChange(body)),
    );
  }

  @Post()
  @Endpoint({
    summary: 'Change the application (same as PUT)',
    aliasOf: 'Applications_update',
    response: applicationView,
  })
  updateByPost(
    @ApplicationId() applicationId: string,
    @Body({ schema: updateApplicationSchema }) body: UpdateApplication,
  ) {
    return this.update(applicationId, body);
  }

  @Get('ip_addresses')
  @ApiErrors(403)
  @Endpoint({
    summary: 'List the IP addresses that requests of this server come from',
    description: 'Standard applications only; at most ten calls an hour.',
    response: ipAddressesView,
  })
  async ipAddresses(@CurrentApplication() application: ApplicationPrincipal) {
    return toIpAddressesView(await this.addresses.for(application));
  }
}
