// A small language: `name = expression`, `say expression`, `repeat expression [ ... ]`, with numbers, strings and
// lists.
// SPDX-License-Identifier: MIT OR Apache-2.0

use self::bumpalo::boxed::Box;
use self::bumpalo::collections::{CollectIn, String, Vec};
use self::bumpalo::Bump;

enum Expression<'b> {
    Number(i64),
    Text(&'b str),
    Name(&'b str),
    List(Vec<'b, Expression<'b>>),
    Binary(char, &'b Expression<'b>, &'b Expression<'b>),
}

enum Statement<'b> {
    Let(&'b str, Expression<'b>),
    Say(Expression<'b>),
    Repeat(Expression<'b>, &'b [Statement<'b>]),
}

#[derive(Clone, Debug, PartialEq)]
enum Value<'b> {
    Number(i64),
    Text(String<'b>),
    List(Vec<'b, Value<'b>>),
}

/// A builtin of two operands: boxed closures, as programs keep them in tables.
type Builtin<'b> = Box<'b, dyn Fn(&Value<'b>, &Value<'b>) -> Option<Value<'b>> + 'b>;

fn builtin<'b>(bump: &'b Bump, f: impl Fn(&Value<'b>, &Value<'b>) -> Option<Value<'b>> + 'b) -> Builtin<'b> {
    let raw = Box::into_raw(Box::new_in(f, bump));
    // SAFETY: the same value, by a wider pointer.
    unsafe { Box::from_raw(raw) }
}

struct Parser<'b> {
    bump: &'b Bump,
    /// In reverse order.
    tokens: Vec<'b, &'b str>,
}

impl<'b> Parser<'b> {
    fn new(bump: &'b Bump, source: &str) -> Self {
        let spaced = source.chars().flat_map(|c| {
            let (before, after) = if "()[]+*,=".contains(c) { (" ", " ") } else { ("", "") };
            before.chars().chain(Some(c)).chain(after.chars())
        });
        let spaced: &'b str = spaced.collect_in::<String>(bump).into_bump_str();
        let mut tokens = spaced.split_whitespace().collect_in::<Vec<_>>(bump);
        tokens.reverse();
        Parser { bump, tokens }
    }

    fn skip(&mut self, token: &str) -> bool {
        self.tokens.pop_if(|t| *t == token).is_some()
    }

    fn statements(&mut self) -> Result<&'b [Statement<'b>], String<'b>> {
        let mut all = Vec::new_in(self.bump);
        while let Some(word) = self.tokens.pop() {
            all.push(match word {
                "]" => break,
                "say" => Statement::Say(self.expression(0)?),
                "repeat" => {
                    let times = self.expression(0)?;
                    if !self.skip("[") {
                        return Err(bumpalo::format!(in self.bump, "repeat what?",));
                    }
                    Statement::Repeat(times, self.statements()?)
                }
                name if self.skip("=") => Statement::Let(name, self.expression(0)?),
                other => return Err(bumpalo::format!(in self.bump, "what is {:?}?", other)),
            });
        }
        Ok(all.into_bump_slice())
    }

    fn expression(&mut self, level: usize) -> Result<Expression<'b>, String<'b>> {
        let Some(operator) = ["+", "*"].get(level) else { return self.atom() };
        let mut left = self.expression(level + 1)?;
        while self.skip(operator) {
            let right = self.expression(level + 1)?;
            left = Expression::Binary(operator.chars().next().unwrap(), self.bump.alloc(left), self.bump.alloc(right));
        }
        Ok(left)
    }

    fn atom(&mut self) -> Result<Expression<'b>, String<'b>> {
        match self.tokens.pop() {
            Some("(") => {
                let inner = self.expression(0)?;
                self.skip(")");
                Ok(inner)
            }
            Some("[") => {
                let mut items = bumpalo::vec![in self.bump];
                while !self.skip("]") {
                    items.push(self.expression(0)?);
                    self.skip(",");
                }
                Ok(Expression::List(items))
            }
            Some(word) if word.starts_with('\'') => Ok(Expression::Text(self.bump.alloc_str(&word[1..]))),
            Some(word) => Ok(word.parse().map_or(Expression::Name(word), Expression::Number)),
            None => Err(String::from_str_in("the text ends too early", self.bump)),
        }
    }
}

struct Machine<'b> {
    bump: &'b Bump,
    names: Vec<'b, (&'b str, Value<'b>)>,
    builtins: Vec<'b, (char, Builtin<'b>)>,
    said: String<'b>,
}

impl<'b> Machine<'b> {
    fn value(&self, expression: &Expression<'b>) -> Result<Value<'b>, String<'b>> {
        Ok(match expression {
            Expression::Number(n) => Value::Number(*n),
            Expression::Text(s) => Value::Text(String::from_str_in(s, self.bump)),
            Expression::List(items) => {
                Value::List(items.iter().map(|item| self.value(item)).collect_in::<Result<_, _>>(self.bump)?)
            }
            Expression::Name(name) => match self.names.iter().rev().find(|(n, _)| n == name) {
                Some((_, value)) => value.clone(),
                None => return Err(bumpalo::format!(in self.bump, "{} is nothing yet", name)),
            },
            Expression::Binary(operator, left, right) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                let f = self.builtins.iter().find(|(o, _)| o == operator).map(|(_, f)| f);
                match f.and_then(|f| f(&left, &right)) {
                    Some(value) => value,
                    None => return Err(bumpalo::format!(in self.bump, "no {} of {:?}", operator, left)),
                }
            }
        })
    }

    fn run(&mut self, statements: &[Statement<'b>]) -> Result<(), String<'b>> {
        for statement in statements {
            match statement {
                Statement::Let(name, expression) => {
                    let value = self.value(expression)?;
                    self.names.retain(|(n, _)| n != name);
                    self.names.push((name, value));
                }
                Statement::Say(expression) => {
                    let line = bumpalo::format!(in self.bump, "{:?};", self.value(expression)?);
                    self.said.push_str(&line);
                }
                Statement::Repeat(times, body) => {
                    let Value::Number(times) = self.value(times)? else {
                        return Err(bumpalo::format!(in self.bump, "repeat how often?",));
                    };
                    for _ in 0..times {
                        self.run(body)?;
                    }
                }
            }
        }
        Ok(())
    }
}

fn sum<'b>(bump: &'b Bump, a: &Value<'b>, b: &Value<'b>) -> Option<Value<'b>> {
    Some(match (a, b) {
        (Value::Number(a), Value::Number(b)) => Value::Number(a.checked_add(*b)?),
        (Value::Text(a), Value::Text(b)) => Value::Text(a.clone() + b),
        (Value::List(a), Value::List(b)) => {
            let mut all = Vec::with_capacity_in(a.len() + b.len(), bump);
            all.extend(a.iter().chain(b.iter()).cloned());
            Value::List(all)
        }
        _ => return None,
    })
}

fn evaluate<'b>(bump: &'b Bump, source: &str) -> Result<String<'b>, String<'b>> {
    let program = Parser::new(bump, source).statements()?;
    let times = |a: &Value<'b>, b: &Value<'b>| match (a, b) {
        (Value::Number(a), Value::Number(b)) => Some(Value::Number(a.checked_mul(*b)?)),
        _ => None,
    };
    let builtins = bumpalo::vec![in bump;
        ('+', builtin(bump, move |a, b| sum(bump, a, b))),
        ('*', builtin(bump, times)),
    ];
    let mut machine = Machine { bump, names: Vec::new_in(bump), builtins, said: String::new_in(bump) };
    machine.run(program)?;
    Ok(machine.said)
}

/// Runs the programs one after the other in one arena, and returns their output.
pub fn say(sources: &[&str]) -> std::vec::Vec<Result<std::string::String, std::string::String>> {
    let mut bump = Bump::new();
    let mut all = std::vec::Vec::new();
    for source in sources {
        all.push(evaluate(&bump, source).map(|s| s.to_string()).map_err(|e| e.to_string()));
        bump.reset();
    }
    all
}
