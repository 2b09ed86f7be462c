package texts

import (
	"encoding/json"
	"reflect"
)

// MaskAll replaces secrets in all texts of what a pointer points to, by mask. The value must not point
// to itself.
func MaskAll(pointer any, mask func(string) string) { maskValue(reflect.ValueOf(pointer), mask) }

// maskValue replaces secrets in all texts of a value that can be set: those of its exported fields,
// and of what these point to. So a field that is added later is masked, too.
func maskValue(v reflect.Value, mask func(string) string) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() {
			v.SetString(mask(v.String()))
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			maskValue(v.Elem(), mask)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				maskValue(v.Field(i), mask)
			}
		}
	case reflect.Slice, reflect.Array:
		if raw, ok := v.Interface().(json.RawMessage); ok {
			maskJSON(v, raw, mask)
			return
		}
		for i := range v.Len() {
			maskValue(v.Index(i), mask)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			copied := reflect.New(v.Type().Elem()).Elem()
			copied.Set(v.MapIndex(key))
			maskValue(copied, mask)
			v.SetMapIndex(key, copied)
		}
	}
}

// maskJSON masks a value that is JSON. What would not be JSON any more is left out.
func maskJSON(v reflect.Value, raw json.RawMessage, mask func(string) string) {
	if text := mask(string(raw)); text != string(raw) && v.CanSet() {
		if !json.Valid([]byte(text)) {
			text = "null"
		}
		v.SetBytes([]byte(text))
	}
}
