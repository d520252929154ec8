/// Why a 206 cannot continue a body.
struct RangeFault: Error, Equatable {
    let detail: String
}

/// Compares the head of a 206 with what is known of the body that it shall continue (RFC 9110, 15.3.7.3). libcurl looks
/// at none of it. Bytes of two representations make an image that nothing reports as damaged, so everything has to fit:
/// the validator, the URL that answered, the media type, and the range from the first missing byte to the last one.
enum RangeReview {
    /// The bytes that the answer has to bring.
    static func length(
        fields: HeaderFields, framing: BodyFraming, from url: TransferURL, resumption: TransferRequest.Resumption
    ) throws(RangeFault) -> Int64 {
        guard url.bare == resumption.location else { throw RangeFault(detail: "a part from another URL") }
        try checkValidator(fields, resumption.validator)
        try checkType(fields.all("Content-Type"), resumption.contentType)
        let values = fields.all("Content-Range")
        guard values.count == 1, let range = ContentRange(values[0]) else {
            throw RangeFault(detail: "no usable Content-Range")
        }
        guard range.first == resumption.offset else {
            throw RangeFault(detail: "a Content-Range that starts elsewhere")
        }
        if let total = range.total, let expected = resumption.total, total != expected {
            throw RangeFault(detail: "a Content-Range of another total")
        }
        guard let total = range.total ?? resumption.total else {
            throw RangeFault(detail: "a Content-Range without a total")
        }
        guard range.last == total - 1 else { throw RangeFault(detail: "a Content-Range that ends early") }
        let length = range.last - range.first + 1
        if case .length(let announced) = framing, announced != length {
            throw RangeFault(detail: "a Content-Range that is not as long as the body")
        }
        return length
    }

    /// Byte for byte: a weak tag is another one. A server that sent a tag with the whole body has to send it with a
    /// part of it (15.3.7), and one that sent none has no reason to send one now.
    private static func checkValidator(_ fields: HeaderFields, _ validator: String) throws(RangeFault) {
        let isTag = validator.hasPrefix("\"")
        guard fields.all("ETag") == (isTag ? [validator] : []) else {
            throw RangeFault(detail: "a part with another ETag")
        }
        guard isTag || fields.all("Last-Modified") == [validator] else {
            throw RangeFault(detail: "a part with another Last-Modified")
        }
    }

    /// An answer to If-Range may leave the type out (15.3.7). Several parts in one body are not what was asked for.
    private static func checkType(_ values: [String], _ expected: String?) throws(RangeFault) {
        guard let type = values.first else { return }
        guard values.count == 1, type == expected, !type.lowercased().hasPrefix("multipart/") else {
            throw RangeFault(detail: "a part with another Content-Type")
        }
    }
}
