//! Serialization and deserialization of handles, pools and collections.
// SPDX-License-Identifier: MIT OR Apache-2.0

use crate::pair::Pair;
use serde_json::{from_value, json, to_value, Value};
use toft_pools::{
    Columns, Handle, List, OrderedMap, OrderedSet, Pool, Queue, Rows, SecondaryMap, SparseSecondaryMap, Stack,
};

fn pool() -> (Pool<String>, Vec<Handle<String>>) {
    let mut pool = Pool::new();
    let handles: Vec<_> = (0..20).map(|i| pool.insert(format!("value {i}"))).collect();
    for i in [3, 4, 11] {
        pool.remove(handles[i]);
    }
    (pool, handles)
}

#[test]
fn handles_are_valid_in_a_deserialized_pool() {
    let (mut pool, handles) = pool();
    let stored = to_value(&pool).unwrap();
    let stored_handles = to_value(&handles).unwrap();
    let mut back: Pool<String> = from_value(stored).unwrap();
    let back_handles: Vec<Handle<String>> = from_value(stored_handles).unwrap();
    assert_eq!(back_handles, handles);
    for handle in &handles {
        assert_eq!(back.get(*handle), pool.get(*handle));
    }
    assert!(back.iter().eq(pool.iter()));
    // Stale handles stay stale after later uses of the slots.
    for i in 0..50 {
        back.insert(format!("new {i}"));
    }
    for i in [3, 4, 11] {
        assert_eq!(back.get(handles[i]), None);
    }
    pool.clear();
    let mut back: Pool<String> = from_value(to_value(&pool).unwrap()).unwrap();
    for _ in 0..30 {
        back.insert(String::new());
    }
    assert!(handles.iter().all(|handle| back.get(*handle).is_none()));
}

#[test]
fn every_kind_of_pool_is_serialized() {
    let mut plain: Pool<char, Rows, u16> = Pool::default();
    for c in 'a'..'f' {
        plain.insert(c);
    }
    plain.remove(2);
    let back: Pool<char, Rows, u16> = from_value(to_value(&plain).unwrap()).unwrap();
    assert!(back.iter().eq(plain.iter()));
    // Columns are read back as rows, and rows as columns.
    let mut columns: Pool<Pair<u8, bool>, Columns, u32> = Pool::default();
    columns.insert(Pair(1, true));
    columns.insert(Pair(2, false));
    columns.remove(0);
    let stored = to_value(&columns).unwrap();
    let rows: Pool<Pair<u8, bool>, Rows, u32> = from_value(stored.clone()).unwrap();
    assert_eq!(rows[1], Pair(2, false));
    let back: Pool<Pair<u8, bool>, Columns, u32> = from_value(stored).unwrap();
    assert_eq!(back.get(1), Some((&2, &false)));
    assert_eq!(back.get(0), None);
    let empty: Pool<u8> = from_value(to_value(Pool::<u8>::new()).unwrap()).unwrap();
    assert!(empty.is_empty());
}

#[test]
fn invalid_data_is_refused() {
    let (pool, handles) = pool();
    let good = to_value(&pool).unwrap();
    assert!(from_value::<Pool<String>>(good.clone()).is_ok());
    let error_of = |change: &dyn Fn(&mut Value)| {
        let mut bad = good.clone();
        change(&mut bad);
        from_value::<Pool<String>>(bad).expect_err("data of no pool").to_string()
    };
    // An empty slot with a value's generation, and the reverse.
    assert!(error_of(&|v| v["generations"][3] = v["generations"][0].clone()).contains("whether its slot has a value"));
    assert!(error_of(&|v| v["generations"][0] = v["generations"][3].clone()).contains("whether its slot has a value"));
    assert!(error_of(&|v| v["values"][0][0] = json!(3)).contains("whether its slot"));
    assert!(error_of(&|v| v["values"][16][0] = json!(20)).contains("whether its slot"));
    assert!(error_of(&|v| v["values"].as_array_mut().unwrap().swap(0, 1)).contains("whether its slot"));
    let twice = |v: &mut Value| {
        let last = v["values"][16].clone();
        v["values"].as_array_mut().unwrap().push(last);
    };
    assert!(error_of(&twice).contains("order of the slots"));
    assert!(error_of(&|v| v["unused"] = json!(1)).contains("no slot has"));
    assert!(error_of(&|v| v["generations"][0] = json!(u64::MAX)).contains("invalid value"));
    assert!(error_of(&|v| drop(v.as_object_mut().unwrap().remove("start"))).contains("missing field `start`"));
    assert!(error_of(&|v| *v = json!([1, 2])).contains("invalid length 2"));
    assert!(error_of(&|v| *v = json!("a pool")).contains("the parts of a pool"));
    let twice = r#"{"start": 1, "start": 2, "unused": 0, "generations": [], "values": []}"#;
    assert!(serde_json::from_str::<Pool<u8>>(twice).unwrap_err().to_string().contains("duplicate field"));
    let narrow: Result<Pool<u8, Rows, Handle<u8, u8>>, _> =
        from_value(json!({"start": 0, "unused": 0, "generations": [257], "values": [[0, 7]]}));
    assert!(narrow.unwrap_err().to_string().contains("no slot has"));
    // No slot is used again after the last generation, 254 here; unused slots have most of their uses left.
    for (unused, generation) in [(0, 255), (254, 1), (130, 1)] {
        let wrapped: Result<Pool<u8, Rows, Handle<u8, u8>>, _> =
            from_value(json!({"start": 0, "unused": unused, "generations": [generation], "values": [[0, 7]]}));
        assert!(wrapped.unwrap_err().to_string().contains("no slot has"));
    }
    // A plain index has no generations, but the slots must exist.
    let far: Result<Pool<u8, Rows, u64>, _> =
        from_value(json!({"start": 0, "unused": 0, "generations": [0], "values": [[1u64 << 30, 7]]}));
    assert!(far.unwrap_err().to_string().contains("not there"));
    let mut handle = to_value(handles[0]).unwrap();
    handle["generation"] = json!(2);
    assert!(from_value::<Handle<String>>(handle).unwrap_err().to_string().contains("no handle has"));
}

#[test]
fn collections_are_sequences() {
    let mut queue = Queue::fixed(5);
    queue.extend(1..=5);
    queue.pop_front();
    queue.push_back(6); // around the ring's end
    assert_eq!(to_value(&queue).unwrap(), json!([2, 3, 4, 5, 6]));
    let mut stack = Stack::fixed(2);
    stack.extend(["a", "b"]);
    assert_eq!(to_value(&stack).unwrap(), json!(["a", "b"]));
    let mut list: List<i32> = from_value(json!([1, 2, 3])).unwrap();
    let first = list.front_handle().unwrap();
    list.move_to_back(first);
    assert_eq!(to_value(&list).unwrap(), json!([2, 3, 1]));
    let columns: Stack<Pair<u8, bool>, Columns> = from_value(json!([[1, true], [2, false]])).unwrap();
    assert_eq!(columns.as_slice(), (&[1, 2][..], &[true, false][..]));
    assert_eq!(to_value(&columns).unwrap(), json!([[1, true], [2, false]]));
    type Ring = Queue<Pair<u8, bool>, Columns>;
    assert_eq!(to_value(from_value::<Ring>(json!([[1, true]])).unwrap()).unwrap(), json!([[1, true]]));
    assert!(from_value::<List<u8>>(json!([1, 300])).is_err());
    assert!(from_value::<Ring>(json!({})).unwrap_err().to_string().contains("a sequence"));
}

#[test]
fn ordered_collections_are_maps_and_sequences() {
    let map: OrderedMap<String, u32> = [("b".to_string(), 2), ("a".to_string(), 1)].into();
    assert_eq!(serde_json::to_string(&map).unwrap(), r#"{"a":1,"b":2}"#);
    assert_eq!(from_value::<OrderedMap<String, u32>>(json!({"b": 2, "a": 1})).unwrap(), map);
    let twice: OrderedMap<String, u32> = serde_json::from_str(r#"{"a": 1, "a": 7}"#).unwrap();
    assert_eq!(twice.iter().collect::<Vec<_>>(), [(&"a".to_string(), &7)]);
    let columns: OrderedMap<u8, Pair<u8, bool>, Columns> =
        from_value(json!({"3": [1, true], "1": [2, false]})).unwrap();
    assert_eq!(serde_json::to_string(&columns).unwrap(), r#"{"1":[2,false],"3":[1,true]}"#);
    let set: OrderedSet<i64> = from_value(json!([3, 1, 2, 3])).unwrap();
    assert_eq!(to_value(&set).unwrap(), json!([1, 2, 3]));
    assert!(from_value::<OrderedMap<u8, u8>>(json!([1])).unwrap_err().to_string().contains("a map"));
    assert!(from_value::<OrderedSet<u8>>(json!([300])).is_err());
}

#[test]
fn secondary_maps_have_the_same_keys() {
    let (pool, handles) = pool();
    let map: SecondaryMap<_, _> =
        pool.keys().filter(|key| key.index() % 3 == 1).map(|key| (key, key.index())).collect();
    let back: SecondaryMap<Handle<String>, u32> = from_value(to_value(&map).unwrap()).unwrap();
    assert!(back == map && back.get(handles[7]) == Some(&7) && back.get(handles[8]).is_none());
    assert_eq!(to_value(SecondaryMap::<Handle<u8>, u8>::new()).unwrap(), json!([]));
    let mut stored = to_value(&map).unwrap();
    stored.as_array_mut().unwrap().remove(0);
    assert!(from_value::<SecondaryMap<Handle<String>, u32>>(stored).is_err());

    toft_pools::new_key_type! {
        struct Key;
    }
    let mut keyed = Pool::<_, Rows, Key>::with_key();
    let key = keyed.insert(7);
    assert_eq!(from_value::<Key>(to_value(key).unwrap()).unwrap(), key);

    let sparse: SparseSecondaryMap<_, _> = map.iter().map(|(key, value)| (key, *value)).collect();
    let back: SparseSecondaryMap<Handle<String>, u32> = from_value(to_value(&sparse).unwrap()).unwrap();
    assert!(back == sparse && back.len() == map.len());
}
