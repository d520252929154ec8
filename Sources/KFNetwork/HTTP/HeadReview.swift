/// What is to be done with a final head.
enum HeadReview: Equatable {
    case deliver(BodyFraming)
    case follow(TransferURL)
    case refuse(Refusal)

    /// The cases of `TransferError` that a head alone decides, without what the caller adds to them.
    enum Refusal: Equatable {
        case fault(HeadFault)
        case status
        case unexpectedStatus
        case contentRange(RangeFault)
        case tooLarge
        case tooManyRedirects
        case insecureRedirect(host: String)
        case forbiddenRedirectScheme(String)
        case invalidRedirect
    }

    /// What of the request matters here.
    struct Terms {
        let options: TransferOptions
        let isConditional: Bool
        let resumption: TransferRequest.Resumption?
        let redirectsLeft: Int
    }

    init(status: StatusLine, fields: HeaderFields, from url: TransferURL, terms: Terms) {
        switch status.status {
        case 301, 302, 303, 307, 308:
            guard let location = fields["Location"], !location.isEmpty else {
                self = .refuse(.status)
                return
            }
            self = HeadReview(redirectTo: location, from: url, redirectsLeft: terms.redirectsLeft)
        case 304:
            self = terms.isConditional ? .deliver(.length(0)) : .refuse(.unexpectedStatus)
        case 206 where terms.resumption == nil && !terms.options.accepts(206):
            self = .refuse(.unexpectedStatus)
        case let code where code == 206 || terms.options.accepts(code):
            do throws(HeadFault) {
                self = try Self.body(status: status, fields: fields, from: url, terms: terms)
            } catch {
                self = .refuse(.fault(error))
            }
        default:
            self = .refuse(.status)
        }
    }

    /// Whether a redirect may be followed.
    init(redirectTo location: String, from url: TransferURL, redirectsLeft: Int) {
        let target: TransferURL
        do {
            target = try TransferURL(location, relativeTo: url)
        } catch {
            self = .refuse(.invalidRedirect)
            return
        }
        guard target.origin.scheme == "http" || target.origin.scheme == "https" else {
            self = .refuse(.forbiddenRedirectScheme(target.origin.scheme))
            return
        }
        guard target.origin.isSecure || !url.origin.isSecure else {
            self = .refuse(.insecureRedirect(host: target.origin.authority))
            return
        }
        self = redirectsLeft > 0 ? .follow(target) : .refuse(.tooManyRedirects)
    }

    private static func body(
        status: StatusLine, fields: HeaderFields, from url: TransferURL, terms: Terms
    ) throws(HeadFault) -> HeadReview {
        var framing = try BodyFraming(fields: fields, isHTTP2: status.protocolName == "HTTP/2")
        // A part of an encoded body continues nothing that is here.
        if status.status == 206, let name = ContentCoding(fields).name { throw .coding(name) }
        var before: Int64 = 0
        if status.status == 206, let resumption = terms.resumption {
            do throws(RangeFault) {
                // Chunks do not say how much of the body is to come; the range does.
                framing = .length(
                    try RangeReview.length(fields: fields, framing: framing, from: url, resumption: resumption))
                before = resumption.offset
            } catch {
                return .refuse(.contentRange(error))
            }
        }
        if case .length(let length) = framing, length > terms.options.maxBytes - before { return .refuse(.tooLarge) }
        return .deliver(framing)
    }
}
