//! The operator: creates, rotates and revokes keys, lifts bans, and moves accounts to other plans.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use petstore_domain::{
    AccountId, KeyHolder, KeyId, KeyLabel, KeyPatch, Limit, Limits, Patch, Plan as DomainPlan, Scopes,
    Timestamp,
};
use petstore_ports::StoreErrorKind;
use petstore_ports::api::{Administration, Failure, NewKey};
use petstore_service::Service;
use petstore_tests::Random;
use tokio::time::{sleep, timeout};

use crate::model::accounts::{OperatorCommand, Plan};
use crate::oracle::{ACTOR, Actor};
use crate::profile::exponential;
use crate::world::{KnownKey, World};

/// The time limit for an answer.
const PATIENCE: Duration = Duration::from_secs(4);

/// Plans with small limits, besides the named ones.
const PLANS: [Plan; 9] = [
    Plan::FREE,
    Plan::FREE,
    Plan::PRO,
    Plan::PRO,
    Plan::BUSINESS,
    Plan::BUSINESS,
    Plan::enterprise(5, 1_000),
    Plan::enterprise(40, 90),
    Plan::enterprise(100_000, 100_000),
];

pub(crate) struct Operator {
    world: Rc<World>,
    random: Random,
}

impl Operator {
    pub(crate) fn new(world: &Rc<World>) -> Self {
        Self { world: Rc::clone(world), random: world.fork() }
    }

    /// Sets up the shop: one account for every two clients.
    pub(crate) async fn open(&mut self) {
        for _ in 0..self.world.environment.profile.clients.div_ceil(2) {
            let plan = *self.random.pick(&PLANS);
            self.give(OperatorCommand::Create { plan }).await;
        }
    }

    /// Sends random commands until the run ends.
    pub(crate) async fn run(mut self) {
        loop {
            sleep(exponential(&mut self.random, self.world.environment.profile.between_commands)).await;
            let command = self.random_command();
            self.give(command).await;
        }
    }

    fn random_command(&mut self) -> OperatorCommand {
        let keys = self.world.keys.borrow();
        let plan = *self.random.pick(&PLANS);
        let now = self.world.environment.clock.millis();
        if keys.is_empty() {
            return OperatorCommand::Create { plan };
        }
        let KnownKey { key, account, .. } = *self.random.pick(&keys);
        match self.random.below(12) {
            0 => OperatorCommand::Create { plan },
            1..=3 => OperatorCommand::Rotate { key, overlap: *self.random.pick(&[0, 60_000, 3_600_000]) },
            4 => OperatorCommand::Revoke { key },
            5 | 6 => OperatorCommand::Lift { key },
            7 => {
                let reads = self.random.once_in(2);
                OperatorCommand::Rescope {
                    key,
                    reads,
                    writes: !reads || self.random.once_in(2),
                    hooks: reads,
                }
            }
            8 => OperatorCommand::Rescope { key, reads: true, writes: true, hooks: true },
            9 => {
                let at = self.random.once_in(2).then(|| now + i64::from(self.random.below(7_200_000)));
                OperatorCommand::Expire { key, at }
            }
            _ => OperatorCommand::Replan { account, plan },
        }
    }

    async fn give(&mut self, command: OperatorCommand) {
        let Some(service) = self.world.service() else { return };
        let oracle = Arc::clone(&self.world.environment.oracle);
        let id = oracle.command(command.clone());
        let carried_out = ACTOR.scope(Actor::Operator, carry_out(&service, command));
        match timeout(PATIENCE, carried_out).await {
            Ok(Ok(done)) => {
                oracle.answered_operator(id, Some(true));
                if let Some(known) = done {
                    oracle.key_handed_out(&known.secret, known.key);
                    self.world.keys.borrow_mut().push(known);
                }
            }
            Ok(Err(CommandFailure::Refused)) => oracle.answered_operator(id, Some(false)),
            Ok(Err(CommandFailure::Unavailable)) => oracle.answered_operator(id, None),
            // Either the service or the operator has given up waiting, so the result of the command is unknown.
            Ok(Err(CommandFailure::Indeterminate)) | Err(_) => {
                oracle.note(&format!("operator #{id} has got no answer in time"));
            }
        }
    }
}

/// The reason why a command had no effect, or why its effect is unknown.
enum CommandFailure {
    Refused,
    Unavailable,
    Indeterminate,
}

impl<R> From<Failure<R>> for CommandFailure {
    fn from(failure: Failure<R>) -> Self {
        match failure {
            Failure::Rejected(_) => Self::Refused,
            Failure::Store(error) if error.kind() == StoreErrorKind::Indeterminate => Self::Indeterminate,
            _ => Self::Unavailable,
        }
    }
}

/// Executes a command. Returns the key that it has created, if any.
async fn carry_out(service: &Service, command: OperatorCommand) -> Result<Option<KnownKey>, CommandFailure> {
    let key_id = |key| KeyId::new(key).expect("a key's id");
    let time = |millis| Timestamp::from_millis(millis).expect("a year of four digits");
    match command {
        OperatorCommand::Create { plan } => {
            let holder = KeyHolder::New { plan: domain_plan(plan) };
            let label = KeyLabel::parse("").expect("short");
            let new = NewKey { holder, label, scopes: Scopes::ALL, expires_at: None };
            let made = service.create_key(new).await?;
            let (key, account) = (made.made.key.id.get(), made.made.account.id.get());
            return Ok(Some(KnownKey { secret: made.secret.reveal().to_owned(), key, account }));
        }
        OperatorCommand::Rotate { key, overlap } => {
            let overlap = Duration::from_millis(u64::try_from(overlap).expect("not negative"));
            let made = service.rotate_key(key_id(key), overlap).await?;
            let (key, account) = (made.made.id.get(), made.made.account.get());
            return Ok(Some(KnownKey { secret: made.secret.reveal().to_owned(), key, account }));
        }
        OperatorCommand::Revoke { key } => drop(service.revoke_key(key_id(key)).await?),
        OperatorCommand::Lift { key } => drop(service.lift_ban(key_id(key)).await?),
        OperatorCommand::Rescope { key, reads, writes, hooks } => {
            let scopes = Some(Scopes { read: reads, write: writes, webhooks: hooks });
            drop(service.update_key(key_id(key), KeyPatch { scopes, ..KeyPatch::default() }).await?);
        }
        OperatorCommand::Expire { key, at } => {
            let expires_at = at.map_or(Patch::Clear, |at| Patch::Set(time(at)));
            drop(service.update_key(key_id(key), KeyPatch { expires_at, ..KeyPatch::default() }).await?);
        }
        OperatorCommand::Replan { account, plan } => {
            let id = AccountId::new(account).expect("an account's id");
            drop(service.update_account(id, None, Some(domain_plan(plan))).await?);
        }
    }
    Ok(None)
}

fn domain_plan(plan: Plan) -> DomainPlan {
    let limit = |requests| Limit::new(requests).expect("a limit");
    match plan.name {
        "free" => DomainPlan::Free,
        "pro" => DomainPlan::Pro,
        "business" => DomainPlan::Business,
        _ => DomainPlan::Enterprise(Limits { minute: limit(plan.limits[0]), day: limit(plan.limits[1]) }),
    }
}
