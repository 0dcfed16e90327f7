//! A simulated client: it sends requests of all kinds, retries, floods, sends concurrently, traverses lists,
//! and pauses.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::rc::Rc;
use std::time::Duration;

use petstore_domain::{EventId, Position};
use petstore_tests::Random;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::follower::Follower;
use crate::generator;
use crate::link::{End, ResetHandle};
use crate::oracle::Answer;
use crate::profile::exponential;
use crate::request::{EventListing, Listing, Of, Op, Request};
use crate::wire::{read_answer, send};
use crate::world::World;

/// The time limit for an answer.
const PATIENCE: Duration = Duration::from_secs(90);

/// The idle time after which a careful client no longer uses a connection.
const STALE: Duration = Duration::from_secs(50);

/// The maximum number of attempts with a request under an idempotency key.
const TRIES: u32 = 6;

/// An open connection.
struct OpenConnection {
    number: u64,
    end: End,
    reset_handle: ResetHandle,
    buffer: Vec<u8>,
    used: Instant,
    /// The number of processes that had ended when the connection was opened.
    ends: u64,
}

pub(crate) struct Client {
    world: Rc<World>,
    random: Random,
    address: IpAddr,
    /// The index of the account that belongs to the client.
    own: usize,
    connection: Option<OpenConnection>,
    retries: u64,
    /// The follower of the event log.
    follower: Follower,
}

impl Client {
    pub(crate) fn new(world: &Rc<World>, number: u64) -> Self {
        // Every two clients share an address.
        let address = Ipv4Addr::new(10, 0, 0, u8::try_from(number / 2).expect("a few clients"));
        let random = world.fork();
        let own = usize::try_from(number).expect("a few clients");
        Self {
            world: Rc::clone(world),
            random,
            address: address.into(),
            own,
            connection: None,
            retries: number << 32,
            follower: Follower::default(),
        }
    }

    /// Repeats sessions of random kinds for ever.
    pub(crate) async fn run(mut self) {
        loop {
            sleep(exponential(&mut self.random, self.world.environment.profile.rest)).await;
            match self.random.below(20) {
                0 => self.flood().await,
                1..=3 => self.traverse().await,
                9..=11 => self.follow().await,
                4..=8 => self.burst().await,
                _ => self.session().await,
            }
        }
    }

    /// Sends some requests of any kind, with pauses.
    async fn session(&mut self) {
        let think = *self.random.pick(&[10, 200, 3_000]);
        for _ in 0..=self.random.below(25) {
            let op = generator::any(&self.world.observations.borrow(), &mut self.random);
            let mut request = self.request(op);
            if request.op.idempotency_scope().is_some() && !self.random.once_in(3) {
                self.retries += 1;
                let key = if self.random.once_in(12) { "same".to_owned() } else { self.retries.to_string() };
                request.idempotency_key = Some(key);
            }
            let answer = self.send_until_answered(request.clone()).await;
            let tag = answer.and_then(|answer| answer.header("etag").map(str::to_owned));
            if request.op.is_read() && tag.is_some() && self.random.once_in(3) {
                self.ask(Request { if_none_match: tag, ..request }).await;
            }
            sleep(exponential(&mut self.random, Duration::from_millis(think))).await;
        }
    }

    /// Sends several requests concurrently, a few times, so that their changes may be committed in one batch.
    async fn burst(&mut self) {
        for _ in 0..=self.random.below(8) {
            let operations = generator::burst(&self.world.observations.borrow(), &mut self.random);
            let mut burst = JoinSet::new();
            for (number, op) in operations.into_iter().enumerate() {
                // The requests use different accounts, because one account may have only a few requests in flight.
                let mut one = Self { own: self.own + number, ..self.sibling() };
                let request = one.request(op);
                burst.spawn_local(async move { one.ask(request).await });
            }
            burst.join_all().await;
            sleep(exponential(&mut self.random, Duration::from_secs(2))).await;
        }
    }

    /// Sends requests fast enough to exhaust the quota.
    async fn flood(&mut self) {
        let secret = self.secret();
        for _ in 0..20 + self.random.below(180) {
            let op = if self.random.once_in(4) { Op::RateLimit } else { Op::Get { of: Of::Pets, id: 1 } };
            let request = Request { secret: secret.clone(), ..self.request(op) };
            self.ask(request).await;
            sleep(Duration::from_millis(u64::from(self.random.below(40)))).await;
        }
    }

    /// Traverses a list from its first page to its last.
    async fn traverse(&mut self) {
        let mut listing = generator::listing(&self.world.observations.borrow(), &mut self.random);
        for _ in 0..30 {
            let request = self.request(Op::List(listing.clone()));
            let request = Request { head_only: false, if_none_match: None, ..request };
            let Some(answer) = self.ask(request).await else { return };
            let Some(cursor) = answer.next_cursor() else { return };
            let Some(last) = last_id(&listing, &answer) else { return };
            listing.after = Some((last, cursor));
            sleep(exponential(&mut self.random, Duration::from_millis(500))).await;
        }
    }

    /// Sends a request. A request with an idempotency key is repeated until it is answered.
    async fn send_until_answered(&mut self, request: Request) -> Option<Answer> {
        for _ in 0..TRIES {
            let answer = if request.idempotency_key.is_some() && self.random.once_in(8) {
                self.ask_twice(&request).await
            } else {
                self.ask(request.clone()).await
            };
            let is_done = answer
                .as_ref()
                .is_some_and(|answer| answer.status != 503 && answer.status != 408 && answer.status != 429);
            // A request that was answered is sometimes sent once more.
            if request.idempotency_key.is_none() || (is_done && !self.random.once_in(6)) {
                return answer;
            }
            sleep(exponential(&mut self.random, Duration::from_millis(700))).await;
        }
        None
    }

    /// Sends a request over two connections at once, as impatient users and proxies do.
    async fn ask_twice(&mut self, request: &Request) -> Option<Answer> {
        let mut sibling = self.sibling();
        tokio::join!(biased; self.ask(request.clone()), sibling.ask(request.clone())).0
    }

    /// Another client at the same address, with its own connection.
    fn sibling(&mut self) -> Self {
        Self {
            world: Rc::clone(&self.world),
            random: Random::seeded(self.random.bits()),
            address: self.address,
            own: self.own,
            connection: None,
            retries: 0,
            follower: Follower::default(),
        }
    }

    /// Reads the event log from the last position to the end, and continues after every failure of the connection or
    /// the server.
    async fn follow(&mut self) {
        for _ in 0..60 {
            let limit =
                self.random.once_in(3).then(|| usize::try_from(1 + self.random.below(9)).expect("small"));
            // Sometimes the client sends an id that no log has.
            let lost = self.random.once_in(40).then(|| elsewhere().to_string());
            let after = lost.or_else(|| self.follower.after.clone());
            let op = Op::Events(EventListing { after, limit });
            let request = Request { head_only: false, if_none_match: None, ..self.request(op) };
            if let Some(answer) = self.ask(request).await
                && answer.status == 200
                && answer.next_cursor().is_none()
            {
                return;
            }
            sleep(exponential(&mut self.random, Duration::from_millis(500))).await;
        }
    }

    fn request(&mut self, op: Op) -> Request {
        let secret = self.secret();
        generator::request(op, secret, &self.world.observations.borrow(), &mut self.random)
    }

    /// The secret for a request. Mostly this is the secret of the newest key of the client's own account. Sometimes it
    /// is an old secret, a secret of another account, an invalid one, or none.
    fn secret(&mut self) -> String {
        let keys = self.world.keys.borrow();
        match self.random.below(60) {
            0 => return String::new(),
            1 => return "pet_nonsense".to_owned(),
            2..=4 if !keys.is_empty() => {
                return keys[usize::try_from(self.random.below(u32::try_from(keys.len()).expect("few")))
                    .expect("few")]
                .secret
                .clone();
            }
            _ => {}
        }
        let mut accounts: Vec<u64> = keys.iter().map(|key| key.account).collect();
        accounts.dedup();
        accounts.sort_unstable();
        accounts.dedup();
        let Some(account) = accounts.get(self.own % accounts.len().max(1)) else { return String::new() };
        keys.iter()
            .rev()
            .find(|key| key.account == *account)
            .map(|key| key.secret.clone())
            .unwrap_or_default()
    }

    /// Sends one request and reads its answer. Returns none if the answer is lost.
    async fn ask(&mut self, request: Request) -> Option<Answer> {
        let is_stale = self.connection.as_ref().is_some_and(|connection| connection.used.elapsed() > STALE);
        if self.connection.as_ref().is_some_and(|connection| connection.reset_handle.is_cut())
            || (is_stale && !self.random.once_in(8))
        {
            self.connection = None;
        }
        if self.connection.is_none() {
            let ends = self.world.ends();
            let Some((number, end, reset_handle)) = self.world.connect(self.address) else {
                sleep(Duration::from_millis(900)).await;
                return None;
            };
            self.connection = Some(OpenConnection {
                number,
                end,
                reset_handle,
                buffer: Vec::new(),
                used: Instant::now(),
                ends,
            });
        }
        let mut connection = self.connection.take().expect("it was just opened");
        let oracle = &self.world.environment.oracle;
        let was_stale = connection.used.elapsed() > STALE;
        let id = oracle.ask(connection.number, request.clone());
        let profile = &self.world.environment.profile;
        if profile.cut_once_in > 0 && self.random.once_in(profile.cut_once_in) {
            let bytes = usize::try_from(self.random.below(900)).expect("few");
            connection.reset_handle.cut_after(bytes);
        }
        let is_last = self.random.once_in(15);
        let talk = talk(&mut connection, &request, oracle.epoch(), is_last, &mut self.random);
        match timeout(PATIENCE, talk).await {
            Ok(Ok((answer, is_sent))) => {
                connection.used = Instant::now();
                self.world.environment.oracle.answered(id, &answer);
                if matches!(request.op, Op::Events(_)) && answer.status == 200 && !request.head_only {
                    oracle.followed(id, &answer, &mut self.follower);
                }
                self.observe(&request.op, &answer);
                if is_sent && !is_last && answer.header("connection") != Some("close") {
                    self.connection = Some(connection);
                }
                Some(answer)
            }
            lost => {
                let why = match lost {
                    Ok(Err(error)) => format!("{:?}", error.kind()),
                    _ => "no answer".to_owned(),
                };
                oracle.lose(id, &why);
                let excused = connection.reset_handle.is_cut()
                    || connection.ends != self.world.ends()
                    || was_stale
                    || profile.conditions.stall_once_in > 0;
                if !excused {
                    oracle.fail(format!("request {id} was not answered: {why}"));
                }
                None
            }
        }
    }

    /// Records the ids and versions of an answer for all clients.
    fn observe(&self, op: &Op, answer: &Answer) {
        let mut observations = self.world.observations.borrow_mut();
        let Some(body) = answer.json().filter(|_| answer.status < 300) else { return };
        let of = match op {
            Op::CreateCategory { .. } | Op::ReplaceCategory { .. } | Op::PatchCategory { .. } => {
                Of::Categories
            }
            Op::CreatePet { .. } | Op::ReplacePet { .. } | Op::PatchPet { .. } => Of::Pets,
            Op::PlaceOrder { .. } | Op::PatchOrder { .. } => Of::Orders,
            Op::SetStock { .. } | Op::AdjustStock { .. } => Of::Inventory,
            Op::Get { of, .. } => *of,
            _ => return,
        };
        let id = body[if of == Of::Inventory { "petId" } else { "id" }].as_u64().unwrap_or_default();
        observations.record(of, id);
        let version = answer.header("etag").and_then(|tag| tag.trim_matches('"').rsplit('-').next());
        if let Some(version) = version.and_then(|hex| u64::from_str_radix(hex, 16).ok()) {
            observations.versions.insert((of, id), version);
        }
    }
}

/// Sends a request, in one or in two pieces, and reads the answer. Also returns whether the whole request was sent.
async fn talk(
    connection: &mut OpenConnection,
    request: &Request,
    epoch: u64,
    is_last: bool,
    random: &mut Random,
) -> io::Result<(Answer, bool)> {
    let bytes = request.bytes(epoch);
    let cut = if random.once_in(6) { random.below(u32::try_from(bytes.len()).expect("small")) } else { 0 };
    let (first, second) = bytes.split_at(usize::try_from(cut).expect("small"));
    let mut sent = Ok(());
    if !first.is_empty() {
        sent = send(&mut connection.end, first, false).await;
        sleep(Duration::from_millis(u64::from(random.below(3_000)))).await;
    }
    if sent.is_ok() {
        sent = send(&mut connection.end, second, is_last).await;
    }
    // A server may refuse a request before it has read all of it, so the answer is read even if sending failed.
    let answer = read_answer(&mut connection.end, &mut connection.buffer, request.head_only).await?;
    Ok((answer, sent.is_ok()))
}

/// An id of an epoch that no log has had.
fn elsewhere() -> EventId {
    EventId { epoch: 0xE15E, position: Position::START.next() }
}

/// The last id of a page.
fn last_id(listing: &Listing, answer: &Answer) -> Option<u64> {
    let name = if listing.of == Of::Inventory { "petId" } else { "id" };
    answer.json()?.as_array()?.last()?[name].as_u64()
}
