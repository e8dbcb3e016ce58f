//! What the server says to the worker.

use super::Decoded;
use super::header::{FrameError, Kind, Raw, begin, finish};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestFrame<'a> {
    /// JSON of [`Hello`](crate::hello::Hello); the first frame and only that.
    Hello { id: u32, json: &'a [u8] },
    /// The values of one call, see [`value`](crate::value).
    Call { id: u32, function: u16, values: &'a [u8] },
    /// End after the calls sent before.
    Stop,
}

impl<'a> RequestFrame<'a> {
    pub fn decode(bytes: &'a [u8]) -> Decoded<Self> {
        let Some((raw, end)) = Raw::decode(bytes)? else { return Ok(None) };
        Ok(Some((Self::from_raw(raw)?, end)))
    }

    /// Appends the frame to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), FrameError> {
        let (id, kind, arg, payload) = match *self {
            Self::Hello { id, json } => (id, Kind::Hello, 0, json),
            Self::Call { id, function, values } => (id, Kind::Call, function, values),
            Self::Stop => (0, Kind::Stop, 0, &[][..]),
        };
        let start = begin(out, id, kind, arg);
        out.extend_from_slice(payload);
        finish(out, start)
    }

    fn from_raw(raw: Raw<'a>) -> Result<Self, FrameError> {
        const HELLO: u16 = Kind::Hello as u16;
        const CALL: u16 = Kind::Call as u16;
        const STOP: u16 = Kind::Stop as u16;
        match raw.kind {
            HELLO => raw.no_arg().map(|()| Self::Hello { id: raw.id, json: raw.payload }),
            CALL => Ok(Self::Call { id: raw.id, function: raw.arg, values: raw.payload }),
            STOP if !raw.payload.is_empty() => Err(raw.bad_payload()),
            STOP => raw.no_arg().map(|()| Self::Stop),
            other => Err(FrameError::Kind(other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(request: RequestFrame<'_>) {
        let mut bytes = Vec::new();
        request.encode(&mut bytes).unwrap();
        for cut in 0..bytes.len() {
            assert_eq!(RequestFrame::decode(&bytes[..cut]), Ok(None));
        }
        bytes.push(0xee);
        assert_eq!(RequestFrame::decode(&bytes), Ok(Some((request, bytes.len() - 1))));
    }

    #[test]
    fn stop_carries_nothing() {
        check(RequestFrame::Stop);
        let stop_with_payload = [9, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 1];
        assert_eq!(RequestFrame::decode(&stop_with_payload), Err(FrameError::Payload { kind: 7, length: 1 }));
        let stop_with_arg = [8, 0, 0, 0, 0, 0, 0, 0, 7, 0, 5, 0];
        assert_eq!(RequestFrame::decode(&stop_with_arg), Err(FrameError::Arg { kind: 7, arg: 5 }));
    }

    #[test]
    fn answers_are_not_requests() {
        let ready = [8, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0];
        assert_eq!(RequestFrame::decode(&ready), Err(FrameError::Kind(2)));
    }

    #[test]
    fn impossible_lengths_are_refused_before_the_rest_arrives() {
        assert_eq!(RequestFrame::decode(&[7, 0, 0, 0]), Err(FrameError::Length(7)));
        assert_eq!(RequestFrame::decode(&[1, 0, 0, 4]), Err(FrameError::Length((64 << 20) + 1)));
    }

    proptest! {
        #[test]
        fn requests_are_decoded_as_they_were_encoded(id: u32, function: u16, values: Vec<u8>) {
            check(RequestFrame::Hello { id, json: &values });
            check(RequestFrame::Call { id, function, values: &values });
        }

        #[test]
        fn any_bytes_are_decoded_without_panic(bytes: Vec<u8>) {
            let _ = RequestFrame::decode(&bytes);
        }
    }
}
