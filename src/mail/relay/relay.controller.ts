import { Body, Controller, Delete, Get, Put } from '@nestjs/common';
import { ApiParam, ApiTags } from '@nestjs/swagger';
import { ApplicationSecretAuth, ApplicationId } from '../../platform/auth/access.decorators.ts';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { ApiErrors } from '../../platform/http/errors/error.schema.ts';
import { toRelayView } from './relay.mapper.ts';
import { relayDeletedView, relayView, type SetRelay, setRelaySchema } from './relay.schema.ts';
import { RelaysService } from './relay.service.ts';

@ApiTags('relay')
@ApiParam({ name: 'client_id' })
@ApplicationSecretAuth()
@Controller('a/:client_id/relay')
export class RelayController {
  constructor(private readonly relays: RelaysService) {}

  @Get()
  @ApiErrors(404, 503)
  @Endpoint({ summary: 'Read the mailing service of the application', response: relayView })
  async get(@ApplicationId() applicationId: string) {
    return toRelayView(await this.relays.get(applicationId));
  }

  @Put()
  @ApiErrors(503)
  @Endpoint({
    summary:
      'Set up or replace the mailing service, which takes over messages that an account cannot send',
    description:
      "The service is asked first. Settings that it refuses are answered with 400, a service that does not answer with 503, and nothing is stored. The service has to confirm each account before the account's messages can use it.",
    response: relayView,
  })
  async set(
    @ApplicationId() applicationId: string,
    @Body({ schema: setRelaySchema }) { kind, settings }: SetRelay,
  ) {
    return toRelayView(await this.relays.set(applicationId, kind, settings));
  }

  @Delete()
  @ApiErrors(404)
  @Endpoint({
    summary: 'Remove the mailing service',
    description: 'Messages that were to go over the service go over their accounts.',
    response: relayDeletedView,
  })
  async delete(@ApplicationId() applicationId: string) {
    await this.relays.remove(applicationId);
    return { success: true };
  }
}
