/// One GET to make.
package struct TransferRequest: Sendable {
    /// Where an interrupted body is to be taken up again.
    package struct Resumption: Sendable, Equatable {
        /// Bytes already here; more than 0.
        package var offset: Int64
        /// The strong ETag of the body with its quotes, or its Last-Modified date where there was no ETag and the date is
        /// strong. Goes into If-Range, so that a changed body comes whole, with status 200; a 206 has to repeat it.
        package var validator: String
        /// The URL that answered when the body was begun, as `ResponseHead.effectiveURL` says.
        package var location: String
        /// The Content-Type that it had then, if any.
        package var contentType: String?
        /// What the whole body measured when it was begun, if that was announced.
        package var total: Int64?

        package init(offset: Int64, validator: String, location: String, contentType: String?, total: Int64?) {
            self.offset = offset
            self.validator = validator
            self.location = location
            self.contentType = contentType
            self.total = total
        }
    }

    package var url: String
    /// Sent as they are to the first origin; to others only where `RequestField.mayChangeOrigin` says so.
    package var headers: [(name: String, value: String)]
    package var options: TransferOptions
    /// Among waiting transfers the higher one starts first.
    package var priority: Float
    /// The headers make this request conditional: status 304 is an answer, not an error.
    package var isConditional = false
    /// Ask for the rest of a body: status 206 is then an answer when it continues that body.
    package var resumption: Resumption?
    package var hooks = TransferHooks()
    package var control: TransferControl?
    /// Asked before each hop.
    package var gate: (any TransferGate)?

    package init(
        url: String, headers: [(name: String, value: String)] = [], options: TransferOptions = TransferOptions(),
        priority: Float = 0.5
    ) {
        self.url = url
        self.headers = headers
        self.options = options
        self.priority = priority
    }
}
