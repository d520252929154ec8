/// The cosine of a small positive angle with the arithmetic of fdlibm, the library behind `Math.cos` of JavaScript engines.
///
/// The last bit of glibc's cosine differs. Where a coefficient of a ThumbHash is zero but for rounding, that bit decides
/// between two digits: with glibc, two of six test pictures had another hash than the reference.
enum PortableCosine {
    private static let cosineTerms = [
        -1.13596475577881948265e-11, 2.08757232129817482790e-09, -2.75573143513906633035e-07,
        2.48015872894767294178e-05, -1.38888888888741095749e-03, 4.16666666666666019037e-02,
    ]
    private static let sineTerms = [
        1.58969099521155010221e-10, -2.50507602534068634195e-08, 2.75573137070700676789e-06,
        -1.98412698298579493134e-04, 8.33333333332248946124e-03,
    ]
    private static let firstSineTerm = -1.66666666666666324348e-01
    /// π/2 in parts of 33 bits, each with the rest behind it.
    private static let halfPi = [
        (head: 1.57079632673412561417e+00, rest: 6.07710050650619224932e-11),
        (head: 6.07710050630396597660e-11, rest: 2.02226624879595063154e-21),
        (head: 2.02226624871116645580e-21, rest: 8.47842766036889956997e-32),
    ]

    /// Returns the cosine of an angle from 0 to some thousands.
    static func cosine(_ angle: Double) -> Double {
        if angle <= .pi / 4 { return cosine(angle, 0) }
        let quarter = (angle * 6.36619772367581382433e-01 + 0.5).rounded(.down)
        var (rest, tail, angleLeft) = (angle, 0.0, 0.0)
        // Another part of π/2 is subtracted when the difference has lost too many bits.
        for (part, lostBits) in zip(halfPi, [16, 49, Int.max]) {
            let before = rest
            rest = before - quarter * part.head
            tail =
                part.head == halfPi[0].head
                ? quarter * part.rest : quarter * part.rest - ((before - rest) - quarter * part.head)
            angleLeft = rest - tail
            if Int(angle.exponentBitPattern) - Int(angleLeft.exponentBitPattern) <= lostBits { break }
        }
        let correction = (rest - angleLeft) - tail
        switch Int(clamping: quarter) & 3 {
        case 0: return cosine(angleLeft, correction)
        case 1: return -sine(angleLeft, correction)
        case 2: return -cosine(angleLeft, correction)
        default: return sine(angleLeft, correction)
        }
    }

    /// The cosine of `x + y` between -π/4 and π/4.
    private static func cosine(_ x: Double, _ y: Double) -> Double {
        let size = high(x)
        if size < 0x3e40_0000 { return 1 }
        let square = x * x
        let sum = square * cosineTerms.dropFirst().reduce(cosineTerms[0]) { $1 + square * $0 }
        if size < 0x3fd3_3333 { return 1 - (0.5 * square - (square * sum - x * y)) }
        // A quarter of the angle, of which the subtraction from one is exact.
        let quarter = size > 0x3fe9_0000 ? 0.28125 : Double(bitPattern: (size - 0x0020_0000) << 32)
        return (1 - quarter) - ((0.5 * square - quarter) - (square * sum - x * y))
    }

    /// The sine of `x + y` between -π/4 and π/4.
    private static func sine(_ x: Double, _ y: Double) -> Double {
        if high(x) < 0x3e40_0000 { return x }
        let square = x * x
        let cube = square * x
        let sum = sineTerms.dropFirst().reduce(sineTerms[0]) { $1 + square * $0 }
        return x - ((square * (0.5 * y - cube * sum) - y) - cube * firstSineTerm)
    }

    /// The upper half of the bits, without the sign.
    private static func high(_ value: Double) -> UInt64 { value.magnitude.bitPattern >> 32 }
}
