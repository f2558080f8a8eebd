//! callgate-peers cedar|cedar-request FOLDER: the `cedar-policy` crate under the protocol of host.mjs.
//!
//! Every rule is a permit, and of those that Cedar names as reasons the host takes the one of lowest rank. `cedar` makes
//! its request from the parsed call inside of what is timed, `cedar-request` before it.

use cedar_policy::{
    Authorizer, Context, Entities, EntityId, EntityTypeName, EntityUid, PolicySet, Request,
    RestrictedExpression,
};
use serde_json::{json, Value};
use std::io::BufRead;
use std::time::{Duration, Instant};

type Error = Box<dyn std::error::Error>;

const BATCH: usize = 64;

struct Peer {
    authorizer: Authorizer,
    policies: PolicySet,
    entities: Entities,
    types: [EntityTypeName; 3],
    lines: Vec<String>,
    at: usize,
    of_one: Duration,
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a string")
}

fn expression(value: &Value) -> RestrictedExpression {
    match value {
        Value::String(text) => RestrictedExpression::new_string(text.clone()),
        Value::Bool(truth) => RestrictedExpression::new_bool(*truth),
        Value::Number(number) => {
            RestrictedExpression::new_long(number.as_i64().expect("an integer"))
        }
        _ => panic!("the mix has no such value"),
    }
}

impl Peer {
    fn load(folder: &str) -> Result<Peer, Error> {
        let calls = std::fs::read_to_string(format!("{folder}/calls.jsonl"))?;
        Ok(Peer {
            authorizer: Authorizer::new(),
            policies: std::fs::read_to_string(format!("{folder}/policy.cedar"))?.parse()?,
            entities: Entities::empty(),
            types: ["Channel".parse()?, "Action".parse()?, "Server".parse()?],
            lines: calls.lines().map(str::to_owned).collect(),
            at: 0,
            of_one: Duration::from_secs(1),
        })
    }

    fn uid(&self, kind: usize, name: &Value) -> EntityUid {
        EntityUid::from_type_name_and_id(self.types[kind].clone(), EntityId::new(text(name)))
    }

    fn request(&self, call: &Value) -> Request {
        let input = call["input"].as_object().expect("an object");
        let input = RestrictedExpression::new_record(
            input
                .iter()
                .map(|(key, value)| (key.clone(), expression(value))),
        );
        let context = Context::from_pairs([
            ("tool".to_owned(), expression(&call["tool"])),
            (
                "thread".to_owned(),
                expression(&call["sessionKey"]["thread"]),
            ),
            ("actor".to_owned(), expression(&call["actor"])),
            ("input".to_owned(), input.expect("no name twice")),
        ]);
        let principal = self.uid(0, &call["sessionKey"]["channel"]);
        let (action, resource) = (self.uid(1, &call["tool"]), self.uid(2, &call["server"]));
        Request::new(
            principal,
            action,
            resource,
            context.expect("a context"),
            None,
        )
        .expect("a request")
    }

    fn decide(&self, request: &Request) -> i64 {
        let response = self
            .authorizer
            .is_authorized(request, &self.policies, &self.entities);
        assert!(response.diagnostics().errors().next().is_none());
        let rank = |id: &cedar_policy::PolicyId| {
            AsRef::<str>::as_ref(id)["policy".len()..]
                .parse::<i64>()
                .expect("a rank")
        };
        response
            .diagnostics()
            .reason()
            .map(rank)
            .min()
            .unwrap_or(-1)
    }

    fn check(&mut self, most: Duration) -> Value {
        let mut ranks = Vec::new();
        let begin = Instant::now();
        for line in &self.lines {
            let call: Value = serde_json::from_str(line).expect("a call");
            ranks.push(self.decide(&self.request(&call)));
            if begin.elapsed() > most {
                break;
            }
        }
        self.of_one = begin.elapsed() / ranks.len() as u32;
        json!({ "ranks": ranks })
    }

    fn measure(&mut self, least: Duration, count: usize, requests_made: bool) -> Value {
        let size = ((least.as_nanos() / self.of_one.as_nanos().max(1)) as usize).clamp(1, BATCH);
        let (mut took, mut decisions, mut kept) = (Duration::ZERO, 0, 0);
        while took < least {
            let lines = (0..size).map(|i| &self.lines[(self.at + i) % count]);
            let calls: Vec<Value> = lines
                .map(|line| serde_json::from_str(line).expect("a call"))
                .collect();
            self.at += size;
            if requests_made {
                let requests: Vec<Request> = calls.iter().map(|call| self.request(call)).collect();
                let begin = Instant::now();
                kept ^= requests
                    .iter()
                    .map(|request| self.decide(request))
                    .fold(0, |a, b| a ^ b);
                took += begin.elapsed();
            } else {
                let begin = Instant::now();
                kept ^= calls
                    .iter()
                    .map(|call| self.decide(&self.request(call)))
                    .fold(0, |a, b| a ^ b);
                took += begin.elapsed();
            }
            decisions += size;
        }
        json!({ "decisions": decisions, "ns": took.as_nanos() as u64, "kept": kept })
    }
}

fn main() -> Result<(), Error> {
    let args: Vec<String> = std::env::args().collect();
    let begin = Instant::now();
    let mut peer = Peer::load(&args[2])?;
    println!(
        "{}",
        json!({ "load_ms": begin.elapsed().as_secs_f64() * 1e3 })
    );
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split(' ').collect();
        let ms = Duration::from_millis(words[1].parse()?);
        let answer = match words[0] {
            "check" => peer.check(ms),
            _ => peer.measure(ms, words[2].parse()?, args[1] == "cedar-request"),
        };
        println!("{answer}");
    }
    Ok(())
}
