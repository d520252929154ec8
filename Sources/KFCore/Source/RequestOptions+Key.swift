import Glibc

extension RequestOptions {
    /// What the key of a URL begins with.
    func keyText(of url: RequestURL) -> String {
        if let cacheKeyFilter { return cacheKeyFilter(url) }
        if ignoresQuery { return url.withoutQuery }
        return ignoredParameters.isEmpty ? url.text : url.without(parameters: ignoredParameters)
    }
}

extension RequestURL {
    /// The normal form without the query parameters whose names match one of the patterns; without a query when all do.
    fileprivate func without(parameters patterns: [String]) -> String {
        guard let mark = text.firstIndex(of: "?") else { return text }
        let query = text[text.index(after: mark)...]
        let kept = query.split(separator: "&", omittingEmptySubsequences: false).filter { parameter in
            let name = PercentCoding.decode(parameter.prefix { $0 != "=" })
            return !patterns.contains { fnmatch($0, name, 0) == 0 }
        }
        if kept.isEmpty { return withoutQuery }
        return text[...mark] + kept.joined(separator: "&")
    }
}
