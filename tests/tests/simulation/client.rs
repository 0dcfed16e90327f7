//! A client: comes, asks, is cut off, tries again, floods, comes in a crowd, walks through lists, rests.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::rc::Rc;
use std::time::Duration;

use petstore_tests::Random;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::book::Answer;
use crate::link::{Cutter, End};
use crate::request::{Listing, Of, Op, Request};
use crate::temper::around;
use crate::wire::{read_answer, send};
use crate::wishes;
use crate::world::World;

/// How long a client waits for an answer.
const PATIENCE: Duration = Duration::from_secs(90);

/// How long an idle connection is good for, as far as a careful client knows.
const STALE: Duration = Duration::from_secs(50);

/// How often a request under an idempotency key is sent.
const TRIES: u32 = 6;

/// A connection that is open.
struct Line {
    number: u64,
    end: End,
    cutter: Cutter,
    buffer: Vec<u8>,
    used: Instant,
    /// How often a process had ended when it was opened.
    ends: u64,
}

pub(crate) struct Client {
    world: Rc<World>,
    random: Random,
    address: IpAddr,
    /// Which of the accounts is its own.
    own: usize,
    line: Option<Line>,
    retries: u64,
}

impl Client {
    pub(crate) fn new(world: &Rc<World>, number: u64) -> Self {
        // Two clients share an address.
        let address = Ipv4Addr::new(10, 0, 0, u8::try_from(number / 2).expect("a few clients"));
        let random = world.fork();
        let own = usize::try_from(number).expect("a few clients");
        Self {
            world: Rc::clone(world),
            random,
            address: address.into(),
            own,
            line: None,
            retries: number << 32,
        }
    }

    /// Visits the shop, again and again.
    pub(crate) async fn live(mut self) {
        loop {
            sleep(around(&mut self.random, self.world.around.temper.rest)).await;
            match self.random.below(20) {
                0 => self.flood().await,
                1..=3 => self.walk().await,
                4..=8 => self.rush().await,
                _ => self.shop().await,
            }
        }
    }

    /// Some requests of any kind, as a person or a program makes them.
    async fn shop(&mut self) {
        let think = *self.random.pick(&[10, 200, 3_000]);
        for _ in 0..=self.random.below(25) {
            let op = wishes::any(&self.world.gossip.borrow(), &mut self.random);
            let mut request = self.request(op);
            if request.op.retry_scope().is_some() && !self.random.once_in(3) {
                self.retries += 1;
                let key = if self.random.once_in(12) { "same".to_owned() } else { self.retries.to_string() };
                request.idempotency_key = Some(key);
            }
            let answer = self.insist(request.clone()).await;
            let tag = answer.and_then(|answer| answer.header("etag").map(str::to_owned));
            if request.op.is_read() && tag.is_some() && self.random.once_in(3) {
                self.ask(Request { if_none_match: tag, ..request }).await;
            }
            sleep(around(&mut self.random, Duration::from_millis(think))).await;
        }
    }

    /// Several people at the same moment, a few times over: what they change may share a batch.
    async fn rush(&mut self) {
        for _ in 0..=self.random.below(8) {
            let wishes = wishes::crowd(&self.world.gossip.borrow(), &mut self.random);
            let mut crowd = JoinSet::new();
            for (number, op) in wishes.into_iter().enumerate() {
                // Of every account: each may have few requests in flight.
                let mut one = Self { own: self.own + number, ..self.twin() };
                let request = one.request(op);
                crowd.spawn_local(async move { one.ask(request).await });
            }
            crowd.join_all().await;
            sleep(around(&mut self.random, Duration::from_secs(2))).await;
        }
    }

    /// As many requests as one gets through.
    async fn flood(&mut self) {
        let secret = self.secret();
        for _ in 0..20 + self.random.below(180) {
            let op = if self.random.once_in(4) { Op::RateLimit } else { Op::Get { of: Of::Pets, id: 1 } };
            let request = Request { secret: secret.clone(), ..self.request(op) };
            self.ask(request).await;
            sleep(Duration::from_millis(u64::from(self.random.below(40)))).await;
        }
    }

    /// A list from its first page to its last.
    async fn walk(&mut self) {
        let mut listing = wishes::listing(&self.world.gossip.borrow(), &mut self.random);
        for _ in 0..30 {
            let request = self.request(Op::List(listing.clone()));
            let request = Request { head_only: false, if_none_match: None, ..request };
            let Some(answer) = self.ask(request).await else { return };
            let Some(cursor) = answer.next_cursor() else { return };
            let Some(last) = last_id(&listing, &answer) else { return };
            listing.after = Some((last, cursor));
            sleep(around(&mut self.random, Duration::from_millis(500))).await;
        }
    }

    /// Sends a request until it is answered, if it may be sent twice.
    async fn insist(&mut self, request: Request) -> Option<Answer> {
        for _ in 0..TRIES {
            let answer = if request.idempotency_key.is_some() && self.random.once_in(8) {
                self.ask_twice(&request).await
            } else {
                self.ask(request.clone()).await
            };
            let is_done = answer
                .as_ref()
                .is_some_and(|answer| answer.status != 503 && answer.status != 408 && answer.status != 429);
            // Sometimes the answer is not trusted.
            if request.idempotency_key.is_none() || (is_done && !self.random.once_in(6)) {
                return answer;
            }
            sleep(around(&mut self.random, Duration::from_millis(700))).await;
        }
        None
    }

    /// Sends a request over two connections at once, as impatient people and proxies do.
    async fn ask_twice(&mut self, request: &Request) -> Option<Answer> {
        let mut twin = self.twin();
        tokio::join!(biased; self.ask(request.clone()), twin.ask(request.clone())).0
    }

    /// Somebody else at the same place, with a connection of their own.
    fn twin(&mut self) -> Self {
        Self {
            world: Rc::clone(&self.world),
            random: Random::seeded(self.random.bits()),
            address: self.address,
            own: self.own,
            line: None,
            retries: 0,
        }
    }

    fn request(&mut self, op: Op) -> Request {
        let secret = self.secret();
        wishes::dress(op, secret, &self.world.gossip.borrow(), &mut self.random)
    }

    /// Mostly the newest key of one's own account; now and then an old one, somebody else's, a wrong one, none.
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

    /// Sends one request and reads its answer; none if that is lost.
    async fn ask(&mut self, request: Request) -> Option<Answer> {
        let is_stale = self.line.as_ref().is_some_and(|line| line.used.elapsed() > STALE);
        if self.line.as_ref().is_some_and(|line| line.cutter.is_cut())
            || (is_stale && !self.random.once_in(8))
        {
            self.line = None;
        }
        if self.line.is_none() {
            let ends = self.world.ends();
            let Some((number, end, cutter)) = self.world.connect(self.address) else {
                sleep(Duration::from_millis(900)).await;
                return None;
            };
            self.line = Some(Line { number, end, cutter, buffer: Vec::new(), used: Instant::now(), ends });
        }
        let mut line = self.line.take().expect("it was just opened");
        let book = &self.world.around.book;
        let was_stale = line.used.elapsed() > STALE;
        let id = book.ask(line.number, request.clone());
        let temper = &self.world.around.temper;
        if temper.cut_once_in > 0 && self.random.once_in(temper.cut_once_in) {
            let bytes = usize::try_from(self.random.below(900)).expect("few");
            line.cutter.cut_after(bytes);
        }
        let is_last = self.random.once_in(15);
        let talk = talk(&mut line, &request, book.epoch(), is_last, &mut self.random);
        match timeout(PATIENCE, talk).await {
            Ok(Ok((answer, is_sent))) => {
                line.used = Instant::now();
                self.world.around.book.answered(id, &answer);
                self.hear(&request.op, &answer);
                if is_sent && !is_last && answer.header("connection") != Some("close") {
                    self.line = Some(line);
                }
                Some(answer)
            }
            lost => {
                let why = match lost {
                    Ok(Err(error)) => format!("{:?}", error.kind()),
                    _ => "no answer".to_owned(),
                };
                book.lose(id, &why);
                let excused = line.cutter.is_cut()
                    || line.ends != self.world.ends()
                    || was_stale
                    || temper.weather.stall_once_in > 0;
                if !excused {
                    book.fail(format!("request {id} was not answered: {why}"));
                }
                None
            }
        }
    }

    /// Tells others what one was shown.
    fn hear(&self, op: &Op, answer: &Answer) {
        let mut gossip = self.world.gossip.borrow_mut();
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
        gossip.hear(of, id);
        let version = answer.header("etag").and_then(|tag| tag.trim_matches('"').rsplit('-').next());
        if let Some(version) = version.and_then(|hex| u64::from_str_radix(hex, 16).ok()) {
            gossip.versions.insert((of, id), version);
        }
    }
}

/// Sends a request, at once or in two pieces, and reads the answer. Says whether all of the request was taken.
async fn talk(
    line: &mut Line,
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
        sent = send(&mut line.end, first, false).await;
        sleep(Duration::from_millis(u64::from(random.below(3_000)))).await;
    }
    if sent.is_ok() {
        sent = send(&mut line.end, second, is_last).await;
    }
    // A server that refuses need not take the whole request: its answer may be there all the same.
    let answer = read_answer(&mut line.end, &mut line.buffer, request.head_only).await?;
    Ok((answer, sent.is_ok()))
}

/// The last id of a page.
fn last_id(listing: &Listing, answer: &Answer) -> Option<u64> {
    let name = if listing.of == Of::Inventory { "petId" } else { "id" };
    answer.json()?.as_array()?.last()?[name].as_u64()
}
